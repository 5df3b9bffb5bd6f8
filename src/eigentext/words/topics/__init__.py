"""Topics of documents: moments of words in documents -> whitening -> tensor power method -> EM."""
