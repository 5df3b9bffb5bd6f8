"""Pictures as SVG: trees, arcs, states, clusters, plots; of data, never of a model."""
