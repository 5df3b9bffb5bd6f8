// Browse word clusters: a search box, a zoomable picture, a tree that folds, and one prefix in full.
(() => {
  const $ = (name) => document.getElementById(`wb-${name}`);
  if (!$("data")) return;
  const data = JSON.parse($("data").textContent);
  const format = new Intl.NumberFormat("en").format;
  const el = (tag, props = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(props)) {
      if (key in node) node[key] = value;
      else node.setAttribute(key, value);
    }
    node.append(...children);
    return node;
  };
  const bdi = (text) => el("bdi", { textContent: text });
  const many = (n, what) => `${format(n)} ${what}${n === 1 ? "" : "s"}`;

  // --- the data: words by number, clusters, nodes (prefixes) -----------------------------------
  const { bits, sizes, totals, counted, top } = data;
  const words = [], home = [], counts = [], starts = [];
  data.words.forEach((joined, c) => {
    starts.push(words.length);
    const seen = counted ? data.counts[c].split(" ") : [];
    joined.split("\t").forEach((word, k) => {
      words.push(word);
      home.push(c);
      counts.push(counted ? Number(seen[k]) : 0);
    });
  });
  starts.push(words.length);
  const lower = words.map((word) => word.toLowerCase());
  const byCount = words.map((_, w) => w).sort((a, b) => counts[b] - counts[a] || a - b);
  const nodes = data.nodes.map(([length, first, end, parent], id) => (
    { id, length, first, end, parent, children: [], prefix: bits[first].slice(0, length) }
  ));
  const leafOf = [];
  nodes.forEach((node) => {
    if (node.parent >= 0) nodes[node.parent].children.push(node);
    node.step = node.parent < 0 ? node.prefix : node.prefix.slice(nodes[node.parent].length);
    if (node.end - node.first === 1) leafOf[node.first] = node;
  });
  const sums = (list) => list.reduce((all, x) => (all.push(all.at(-1) + x), all), [0]);
  const before = { words: sums(sizes), tokens: sums(totals), clusters: sums(sizes.map(() => 1)) };
  const weigh = (node, what) => before[what][node.end] - before[what][node.first];
  const best = (node, k) => {
    node.best ??= [];
    if (node.best.length < k) {
      const found = [];
      for (let c = node.first; c < node.end; c++)
        for (let w = starts[c]; w < Math.min(starts[c + 1], starts[c] + k); w++)
          found.push([w, w - starts[c]]);
      found.sort((a, b) => counts[b[0]] - counts[a[0]] || a[1] - b[1] || a[0] - b[0]);
      node.best = found.slice(0, k).map((pair) => pair[0]);
    }
    return node.best.slice(0, k);
  };
  const label = (node, k) => best(node, k).map((w) => words[w]);
  // words between isolates, so that none turns the order of the others
  const line = (list) => list.map((word) => `\u2068${word}\u2069`).join(" · ");
  const pathTo = (node) => {
    const path = [node];
    while (path[0].parent >= 0) path.unshift(nodes[path[0].parent]);
    return path;
  };
  const nodeAt = (prefix) => {
    let found = null; // the shortest node whose bits start with the prefix
    for (const node of nodes)
      if (node.prefix.startsWith(prefix) && (!found || node.length < found.length)) found = node;
    return found;
  };

  // --- state ------------------------------------------------------------------------------------
  let chosen = nodes[0], word = -1, zoom = nodes[0], weight = "words";
  const open = new Set(); // at first what fits without scrolling, generation by generation
  for (let queue = [nodes[0]], rows = 1; queue.length;) {
    const node = queue.shift();
    if (!node.children.length || (rows += node.children.length) > 22) continue;
    open.add(node.id);
    queue.push(...node.children);
  }

  const select = (node, { w = -1, from = "" } = {}) => {
    chosen = node;
    word = w;
    const path = pathTo(node);
    path.slice(0, -1).forEach((up) => open.add(up.id));
    const place = path.indexOf(zoom);
    if (place < 0 || path.length - 1 - place >= ROWS)
      zoom = path[Math.max(0, path.length - 4)];
    drawAll(from);
    const hash = w >= 0 ? `word=${encodeURIComponent(words[w])}` : `bits=${node.prefix}`;
    try { history.replaceState(null, "", `#${hash}`); } catch { /* a page without an address */ }
  };
  const room = (node) => (node.children.length || node.parent < 0 ? node : nodes[node.parent]);
  const zoomTo = (node) => {
    zoom = room(node);
    drawPicture();
  };

  // --- the zoomable picture: one row a generation, as wide as there are words -------------------
  const ROWS = 7;
  const drawPicture = (from) => {
    const box = $("picture"), blocks = [];
    const total = weigh(zoom, weight) || 1, width = box.clientWidth || 900;
    let deepest = 0;
    const visit = [[zoom, 0, 0]];
    while (visit.length) {
      const [node, depth, at] = visit.pop();
      const share = weigh(node, weight) / total;
      if (share * width < 3 && node !== chosen) continue;
      deepest = Math.max(deepest, depth);
      blocks.push([node, depth, at, share]);
      if (depth + 1 < ROWS) {
        let next = at;
        for (const child of node.children) {
          visit.push([child, depth + 1, next]);
          next += weigh(child, weight) / total;
        }
      }
    }
    box.style.height = `${(deepest + 1) * 44}px`;
    blocks.sort((a, b) => a[1] - b[1] || a[2] - b[2]);
    const held = document.activeElement?.closest?.("#wb-picture button")?.dataset.node;
    const stop = blocks.some(([node]) => node === chosen) ? chosen : zoom;
    box.replaceChildren(...blocks.map(([node, depth, at, share]) => {
      const shown = line(label(node, 8));
      const block = el("button", {
        type: "button", title: `${node.prefix || "all"}: ${shown}`,
        "aria-label": `${node.prefix || "all words"}, ${many(node.end - node.first, "cluster")}: ${line(label(node, 3))}`,
        className: node === chosen ? "on" : "",
        tabIndex: node === stop ? 0 : -1,
      });
      block.dataset.node = node.id;
      if (share * width > 26) {
        const step = node === zoom ? node.prefix || "all" : node.step || "·";
        block.append(el("code", { textContent: step }), el("span", { textContent: shown }));
      }
      const middle = (node.first + node.end) / 2 / bits.length;
      Object.assign(block.style, { left: `${100 * at}%`, width: `${100 * share}%`, top: `${44 * depth}px` });
      block.style.setProperty("--hue", Math.round(20 + 320 * middle));
      return block;
    }));
    if (from === "picture" || held !== undefined)
      (box.querySelector(`[data-node="${from === "picture" ? chosen.id : held}"]`)
        ?? box.querySelector('[tabindex="0"]')).focus({ preventScroll: true });
    $("out").disabled = $("whole").disabled = zoom === nodes[0];
    $("in").disabled = room(chosen) === zoom;
    $("at").textContent = zoom === nodes[0] ? "the whole tree" : `below ${zoom.prefix}`;
  };
  $("picture").addEventListener("click", (event) => {
    const block = event.target.closest("button");
    if (!block) return;
    const node = nodes[block.dataset.node];
    zoom = node === zoom ? nodes[Math.max(node.parent, 0)] : room(node);
    select(node, { from: "picture" });
  });
  $("picture").addEventListener("keydown", (event) => {
    const block = event.target.closest("button");
    if (!block) return;
    const node = nodes[block.dataset.node];
    const row = [...$("picture").children].filter((other) => other.style.top === block.style.top);
    const next = {
      ArrowLeft: () => row[row.indexOf(block) - 1],
      ArrowRight: () => row[row.indexOf(block) + 1],
      ArrowUp: () => $("picture").querySelector(`[data-node="${node.parent}"]`),
      ArrowDown: () => node.children.map((c) => $("picture").querySelector(`[data-node="${c.id}"]`)).find(Boolean),
    }[event.key];
    if (next) { next()?.focus(); event.preventDefault(); }
    if (event.key === "+") zoomTo(node);
    if (event.key === "-" || event.key === "Escape") zoomTo(nodes[Math.max(zoom.parent, 0)]);
  });
  $("in").addEventListener("click", () => zoomTo(chosen));
  $("out").addEventListener("click", () => zoomTo(nodes[Math.max(zoom.parent, 0)]));
  $("whole").addEventListener("click", () => zoomTo(nodes[0]));
  $("weight").addEventListener("change", (event) => { weight = event.target.value; drawPicture(); });

  // --- the tree that folds ----------------------------------------------------------------------
  const drawTree = (from) => {
    const rows = [], stack = [[nodes[0], 1]];
    while (stack.length) {
      const [node, level] = stack.pop();
      rows.push([node, level]);
      if (open.has(node.id)) for (const child of [...node.children].reverse()) stack.push([child, level + 1]);
    }
    const tree = $("tree");
    tree.replaceChildren(...rows.map(([node, level]) => {
      const inner = node.children.length > 0;
      const row = el("div", {
        role: "treeitem", "aria-level": level, "aria-selected": String(node === chosen),
        tabIndex: node === chosen ? 0 : -1, className: inner ? "inner" : "leaf",
      }, el("i"), el("code", { textContent: node.parent < 0 ? node.prefix || "all" : node.step || "·" }),
      el("span", { textContent: line(label(node, inner ? 3 : 5)) }),
      el("small", { textContent: format(weigh(node, inner ? "clusters" : "words")), title: inner ? "clusters" : "words" }));
      row.style.setProperty("--level", Math.min(level - 1, 24));
      row.dataset.node = node.id;
      if (inner) row.setAttribute("aria-expanded", String(open.has(node.id)));
      return row;
    }));
    const on = tree.querySelector('[aria-selected="true"]');
    if (!on) { tree.firstChild.tabIndex = 0; return; }
    if (from === "tree") on.focus({ preventScroll: true });
    const low = on.offsetTop, view = tree.clientHeight;
    if (low < tree.scrollTop || low + on.offsetHeight > tree.scrollTop + view) tree.scrollTop = low - view / 2;
  };
  const fold = (node, out) => {
    if (out) open.add(node.id); else open.delete(node.id);
    if (!out && node.first <= chosen.first && chosen.end <= node.end) chosen = node;
    drawTree("tree");
  };
  $("tree").addEventListener("click", (event) => {
    const row = event.target.closest("[data-node]");
    if (!row) return;
    const node = nodes[row.dataset.node];
    if (event.target.tagName === "I" || node === chosen) {
      if (node.children.length) fold(node, !open.has(node.id));
    } else open.add(node.id);
    select(node, { from: "tree" });
  });
  $("tree").addEventListener("keydown", (event) => {
    const rows = [...$("tree").children];
    const at = rows.findIndex((row) => row.dataset.node === String(chosen.id));
    const go = (row) => row && select(nodes[row.dataset.node], { from: "tree" });
    const inner = chosen.children.length > 0, out = open.has(chosen.id);
    const keys = {
      ArrowDown: () => go(rows[at + 1]), ArrowUp: () => go(rows[at - 1]),
      Home: () => go(rows[0]), End: () => go(rows.at(-1)),
      ArrowRight: () => (inner && !out ? fold(chosen, true) : inner && go(rows[at + 1])),
      ArrowLeft: () => (inner && out ? fold(chosen, false) : chosen.parent >= 0 && select(nodes[chosen.parent], { from: "tree" })),
      Enter: () => inner && fold(chosen, !out), " ": () => inner && fold(chosen, !out),
    };
    if (keys[event.key]) { keys[event.key](); event.preventDefault(); }
  });

  // --- one prefix in full -----------------------------------------------------------------------
  const chip = (w) => {
    const button = el("button", { type: "button", className: w === word ? "chip on" : "chip" }, bdi(words[w]));
    if (counted) button.append(el("small", { textContent: format(counts[w]) }));
    button.addEventListener("click", () => select(leafOf[home[w]], { w }));
    return button;
  };
  const chips = (list) => el("div", { className: "chips" }, ...list.map(chip));
  const toNode = (node, text) => {
    const button = el("button", { type: "button", className: "to" }, el("code", { textContent: text }));
    button.addEventListener("click", () => select(node));
    return button;
  };
  const rowOf = (node, head) => el("div", { className: "row" }, toNode(node, head),
    el("span", { textContent: line(label(node, 8)) }), el("small", { textContent: many(weigh(node, "words"), "word") }));
  const drawDetail = () => {
    const path = pathTo(chosen), leaf = !chosen.children.length;
    const crumbs = el("p", { className: "crumbs" });
    const root = el("button", { type: "button", textContent: "all" });
    root.addEventListener("click", () => select(nodes[0]));
    crumbs.append(root, ...[...chosen.prefix].map((bit, k) => {
      const node = path.find((up) => up.length > k);
      const button = el("button", { type: "button", textContent: bit, title: chosen.prefix.slice(0, k + 1) });
      button.addEventListener("click", () => select(node));
      return button;
    }));
    const facts = leaf ? [] : [many(chosen.end - chosen.first, "cluster")];
    facts.push(many(weigh(chosen, "words"), "word"));
    if (counted) {
      const share = weigh(chosen, "tokens") / (before.tokens.at(-1) || 1);
      facts.push(many(weigh(chosen, "tokens"), "token"), `${(100 * share).toFixed(share < 0.01 ? 3 : 1)} % of all`);
    }
    const parts = [];
    if (word >= 0) {
      const rank = word - starts[home[word]] + 1;
      parts.push(el("h3", { className: "word" }, bdi(words[word])), el("p", {
        className: "facts",
        textContent: `${counted ? `seen ${many(counts[word], "time")}, ` : ""}word ${format(rank)} of its cluster`,
      }));
    } else parts.push(el("h3", { textContent: leaf ? "Cluster" : chosen.parent < 0 ? "All words" : "Prefix" }));
    parts.push(crumbs, el("p", { className: "facts", textContent: facts.join(" · ") }));
    if (word >= 0 && data.near?.[word])
      parts.push(el("h4", { textContent: "Nearest by vector" }), chips(data.near[word]));
    if (leaf) {
      const all = [];
      for (let w = starts[chosen.first]; w < starts[chosen.end]; w++) all.push(w);
      const list = chips(all.slice(0, top));
      if (word >= 0 && all.indexOf(word) >= top) list.append(chip(word));
      parts.push(el("h4", { textContent: "Words" }), list);
      if (all.length > top) {
        const more = el("button", { type: "button", className: "to", textContent: `show ${format(all.length - top)} more` });
        more.addEventListener("click", () => { list.replaceChildren(...all.map(chip)); more.remove(); list.children[top].focus(); });
        parts.push(more);
      }
      const missing = sizes[chosen.first] - all.length;
      if (missing > 0) parts.push(el("p", { className: "facts", textContent: `${format(missing)} rarer words are not in this page` }));
    } else {
      parts.push(el("h4", { textContent: "Most frequent words" }), chips(best(chosen, Math.min(top, 24))));
      const below = chosen.end - chosen.first > 60 ? chosen.children : Array.from({ length: chosen.end - chosen.first }, (_, k) => leafOf[chosen.first + k]);
      parts.push(el("h4", { textContent: below[0].children.length || below.length < 3 ? "Below" : "Clusters" }));
      parts.push(...below.map((node) => rowOf(node, `…${node.prefix.slice(chosen.length) || "·"}`)));
    }
    if (chosen.parent >= 0) {
      parts.push(el("h4", { textContent: "Neighbours in the tree, nearest first" }));
      for (let k = path.length - 1; k > 0 && k > path.length - 7; k--)
        for (const other of path[k - 1].children) if (other !== path[k]) parts.push(rowOf(other, other.prefix || "all"));
    }
    $("detail").replaceChildren(...parts);
    $("status").textContent = word >= 0 ? `${words[word]}: ${chosen.prefix}` : `${chosen.prefix || "all"}: ${facts.join(", ")}`;
  };
  const drawAll = (from) => { drawPicture(from); drawTree(from); drawDetail(); };

  // --- the search box ---------------------------------------------------------------------------
  const input = $("search"), list = $("list");
  let offers = [], marked = -1;
  const look = () => {
    const asked = input.value.trim(), small = asked.toLowerCase();
    offers = [];
    if (asked) {
      const exact = [], starting = [], inside = [];
      for (const w of byCount) {
        const at = lower[w].indexOf(small);
        if (at < 0) continue;
        (words[w] === asked ? exact : at === 0 ? starting : inside).push(w);
        if (starting.length > 400 && exact.length) break;
      }
      starting.sort((a, b) => (lower[b] === small) - (lower[a] === small));
      offers = [...exact, ...starting, ...inside].slice(0, 12).map((w) => ({ w, node: leafOf[home[w]] }));
      const node = /^[01]+$/.test(asked) ? nodeAt(asked) : null;
      if (node) offers.unshift({ w: -1, node });
    }
    marked = offers.length ? 0 : -1;
    list.replaceChildren(...offers.map(({ w, node }, k) => {
      const item = el("li", { role: "option", id: `wb-offer-${k}`, "aria-selected": String(k === 0) },
        w < 0 ? el("b", { textContent: "prefix" }) : bdi(words[w]), el("code", { textContent: node.prefix }));
      item.addEventListener("mousedown", (event) => { event.preventDefault(); take(k); });
      return item;
    }));
    if (asked && !offers.length)
      list.replaceChildren(el("li", { className: "none", role: "option", "aria-disabled": "true" }, "no word like ", bdi(asked), " here"));
    list.hidden = !asked;
    input.setAttribute("aria-expanded", String(!list.hidden));
    point();
  };
  const point = () => {
    [...list.children].forEach((item, k) => item.setAttribute("aria-selected", String(k === marked)));
    if (marked >= 0) input.setAttribute("aria-activedescendant", `wb-offer-${marked}`);
    else input.removeAttribute("aria-activedescendant");
  };
  const shut = () => { list.hidden = true; input.setAttribute("aria-expanded", "false"); };
  const take = (k) => {
    if (!offers[k]) return;
    shut();
    select(offers[k].node, { w: offers[k].w });
  };
  input.addEventListener("input", look);
  input.addEventListener("focus", () => input.value && look());
  input.addEventListener("blur", shut);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { if (list.hidden) look(); take(Math.max(marked, 0)); }
    else if (event.key === "Escape") { shut(); return; }
    else if (event.key === "ArrowDown") marked = Math.min(marked + 1, offers.length - 1);
    else if (event.key === "ArrowUp") marked = Math.max(marked - 1, 0);
    else return;
    event.preventDefault();
    point();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || /INPUT|SELECT|TEXTAREA/.test(document.activeElement.tagName)) return;
    input.focus();
    event.preventDefault();
  });

  // --- start, and come back to an address -------------------------------------------------------
  const follow = () => {
    const [, kind, what] = /^#(word|bits)=(.*)$/.exec(location.hash) ?? [];
    const w = kind === "word" ? words.indexOf(decodeURIComponent(what)) : -1;
    const node = w >= 0 ? leafOf[home[w]] : kind === "bits" ? nodeAt(what) : null;
    if (node) select(node, { w });
    return Boolean(node);
  };
  addEventListener("hashchange", follow);
  let wide = 0;
  new ResizeObserver(([entry]) => {
    if (Math.abs(entry.contentRect.width - wide) < 1) return; // its height is our doing
    wide = entry.contentRect.width;
    drawPicture();
  }).observe($("picture"));
  $("plain").remove();
  $("browser").hidden = false;
  if (!follow()) drawAll("");
})();
