"use strict";
// The page answers by itself: it draws trees, follows a case through one, and says what would change the answer.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const OTHER = -1; // a category that the data did not have; a missing value is null
  const MOST_ON_PAPER = 25; // trees of the slider that are listed in print

  // Deciding: as the package does -----------------------------------------------------------------------------------

  // A value is a number, the place of a category, OTHER or null.
  function holds(node, value, kind) {
    if (node.threshold !== undefined) {
      if (value === null) return node.missing;
      return (kind === "ordered" && value === OTHER ? Infinity : value) <= node.threshold;
    }
    if (node.category !== undefined) return value === node.category;
    return value === null;
  }

  const kinds = Object.fromEntries(data.columns.map((column) => [column.place, column.kind]));

  // The nodes from the root to the leaf that a case reaches; values are by the place of their column.
  function follow(tree, values) {
    const path = [0];
    for (let node = tree[0]; node.left !== undefined; node = tree[path[path.length - 1]]) {
      const value = values[node.column];
      path.push(holds(node, value, kinds[node.column]) ? node.left : node.right);
    }
    return path;
  }

  function decide(values) {
    const path = follow(data.tree, values);
    return data.tree[path[path.length - 1]].label;
  }

  // A number in full, as the questions of the tree write it: "13,189.54 dollars".
  function write(number, unit) {
    const [whole, ...rest] = String(number).split(".");
    // Without a unit, four digits may be a year.
    const isLong = (unit ? /^-?\d{4,}$/ : /^-?\d{5,}$/).test(whole);
    const grouped = isLong ? BigInt(whole).toLocaleString("en-US") : whole;
    return [grouped, ...rest].join(".") + (unit ? ` ${unit}` : "");
  }

  // The next larger number: what is just above a threshold.
  function above(number) {
    if (number === 0) return Number.MIN_VALUE;
    const bits = new BigInt64Array(1);
    const float = new Float64Array(bits.buffer);
    float[0] = number;
    bits[0] += number > 0 ? 1n : -1n;
    return float[0];
  }

  // What else a column could have been: a value on every side of its tests, each with words and how far away it is.
  function alternatives(column, value) {
    const tests = data.tree.filter((node) => node.column === column.place && node.left !== undefined);
    const isRanked = column.kind === "numeric" || column.kind === "ordered" || column.kind === "binary";
    const found = [];
    const names = column.kind === "binary" ? ["no", "yes"] : column.categories.map((category) => category[1]);
    const say = (own) => (column.kind === "numeric" ? write(own, column.unit) : names[own]);
    if (isRanked) {
      for (const { threshold } of tests) {
        if (threshold === undefined) continue;
        const low = Math.floor(threshold);
        // Nobody is 25.5 years old where all ages are whole numbers.
        const isWhole = column.whole && (value === null || Number.isInteger(value)) && Number.isSafeInteger(low + 1);
        if (column.kind === "numeric" && !isWhole) {
          found.push([threshold, say(threshold)], [above(threshold), `just above ${say(threshold)}`]);
        } else {
          found.push([low, say(low)], [low + 1, say(low + 1)]);
        }
      }
    } else {
      found.push(...column.categories);
      if (column.kind === "boolean") {
        if (found.length < 2) found.push([OTHER, yesNo(column, OTHER)]);
      } else {
        found.push([OTHER, "something else"]);
      }
    }
    if (tests.some((node) => node.threshold === undefined && node.category === undefined)) {
      if (value !== null) found.push([null, "missing"]);
      else if (isRanked && column.usual !== null) found.push([column.usual, say(column.usual)]);
    }
    const isNear = isRanked && value !== null && value !== OTHER;
    return found.filter(([other, words]) => other !== value && words !== undefined).map(([other, words]) => ({
      value: other,
      words: column.kind === "boolean" && other !== null ? yesNo(column, other) : words,
      distance: isNear && other !== null ? Math.abs(other - value) / column.scale : 1,
    }));
  }

  // The word for a category of a boolean column, of which one may not have been seen.
  function yesNo(column, place) {
    const own = column.categories.find((category) => category[0] === place);
    const isTrue = own ? own[1] === "True" : !column.categories.some((category) => category[1] === "True");
    return isTrue ? "yes" : "no";
  }

  // For each column the smallest change by itself that changes the decision, the smallest of all first.
  function changes(values) {
    const own = decide(values);
    const found = [];
    for (const column of data.columns) {
      const able = alternatives(column, values[column.place])
        .map((one) => ({ ...one, label: decide({ ...values, [column.place]: one.value }) }))
        .filter((one) => one.label !== own)
        .sort((a, b) => a.distance - b.distance);
      if (able.length) found.push({ column, ...able[0] });
    }
    return found.sort((a, b) => a.distance - b.distance);
  }

  // Drawing ---------------------------------------------------------------------------------------------------------

  function make(tag, settings = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(settings)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  // Long names may break behind an underscore.
  function breakable(text) {
    return text.split(/(?<=_)(?=[^_])/).flatMap((part, i) => (i ? [make("wbr"), part] : [part]));
  }

  function countLeaves(tree, place) {
    const node = tree[place];
    return node.left === undefined ? 1 : countLeaves(tree, node.left) + countLeaves(tree, node.right);
  }

  // `choose` is told of a leaf that is chosen, or merely pointed at; without it the tree is a picture.
  function draw(tree, choose) {
    function branch(place) {
      const node = tree[place];
      const box = make("div", { class: "branch", "data-node": place });
      if (node.left === undefined) {
        const label = data.labels[node.label];
        const card = make(choose ? "button" : "div", { class: "card leaf", style: `--label:${label.colour}` });
        card.append(make("strong", {}, make("bdi", {}, label.name)), ...node.lines.map((line) => make("span", {}, line)));
        if (choose) {
          card.type = "button";
          card.addEventListener("click", () => choose(place, true));
          card.addEventListener("mouseenter", () => choose(place, false));
        }
        box.append(card);
        return box;
      }
      const card = make("button", { class: "card", type: "button", "aria-expanded": "true" }, ...breakable(node.question));
      const below = make("ul");
      for (const [way, side] of [[node.ways[0], node.left], [node.ways[1], node.right]]) {
        const item = make("li", {}, make("span", { class: "way" }, way), branch(side));
        below.append(item);
      }
      const folded = make("span", { class: "folded", hidden: "" }, `${countLeaves(tree, place)} groups folded`);
      card.append(folded);
      card.addEventListener("click", () => {
        const isOpen = below.hidden;
        below.hidden = !isOpen;
        folded.hidden = isOpen;
        card.setAttribute("aria-expanded", String(isOpen));
      });
      box.append(card, below);
      return box;
    }
    return branch(0);
  }

  const trunk = document.getElementById("tree");
  const panel = document.getElementById("leaf");
  trunk.append(
    draw(data.tree, (place, isChosen) => {
      const node = data.tree[place];
      const rows = node.details.map(([name, value]) =>
        make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, value)));
      const label = data.labels[node.label].name;
      panel.replaceChildren(make("h3", {}, make("bdi", {}, label)), make("table", {}, make("tbody", {}, ...rows)));
      panel.hidden = false;
      if (isChosen) panel.scrollIntoView({ block: "nearest" });
    }),
  );

  // Ask it ----------------------------------------------------------------------------------------------------------

  const form = document.getElementById("ask");
  const answer = document.getElementById("answer");

  function control(column) {
    const id = `ask-${column.place}`;
    const label = make("label", { for: id }, make("bdi", {}, column.name), column.unit ? ` (${column.unit})` : "");
    const usual = column.usual === null ? "" : String(column.usual);
    if (column.kind === "numeric") {
      const settings = { id, type: "number", step: "any", placeholder: "missing", value: usual };
      return make("div", {}, label, make("input", settings));
    }
    const select = make("select", { id }, make("option", { value: "" }, "(missing)"));
    const offer = (place, name) => select.append(make("option", { value: String(place) }, name));
    if (column.kind === "binary") {
      offer(0, "no");
      offer(1, "yes");
    } else if (column.kind === "boolean") {
      const places = column.categories.map((category) => category[0]);
      for (const place of places.length < 2 ? [...places, OTHER] : places) offer(place, yesNo(column, place));
    } else {
      for (const [place, name] of column.categories) offer(place, name);
      offer(OTHER, "(something else)");
    }
    select.value = usual;
    return make("div", {}, label, select);
  }

  function readForm() {
    const values = {};
    for (const column of data.columns) {
      const text = document.getElementById(`ask-${column.place}`).value;
      values[column.place] = text === "" ? null : Number(text);
    }
    return values;
  }

  function show() {
    const wrong = form.querySelector(":invalid");
    if (wrong) {
      for (const lit of trunk.querySelectorAll(".lit")) lit.classList.remove("lit");
      answer.replaceChildren(make("p", {}, "One of the answers is not a number."));
      return;
    }
    const values = readForm();
    const path = follow(data.tree, values);
    const leaf = data.tree[path[path.length - 1]];
    for (const lit of trunk.querySelectorAll(".lit")) lit.classList.remove("lit");
    for (const place of path) {
      const box = trunk.querySelector(`[data-node="${place}"]`);
      box.classList.add("lit");
      if (place !== 0) box.parentElement.classList.add("lit");
    }
    const steps = path.slice(0, -1).map((place, i) => {
      const node = data.tree[place];
      return make("li", {}, ...breakable(node.answers[path[i + 1] === node.left ? 0 : 1]));
    });
    const found = changes(values).map((one) => {
      const name = make("strong", {}, make("bdi", {}, data.labels[one.label].name));
      return make("li", {}, "If ", make("bdi", {}, one.column.name), " were ", make("bdi", {}, one.words), ": ", name);
    });
    const name = make("strong", {}, make("bdi", {}, data.labels[leaf.label].name));
    answer.replaceChildren(
      make("p", { class: "lead" }, `For this case, ${data.verb} is `, name, `. Among those like it: ${leaf.lines.join("; ")}.`),
      make("h3", {}, "Why"),
      make("ol", {}, ...steps),
      make("h3", {}, "What would change it"),
      found.length
        ? make("ul", {}, ...found)
        : make("p", {}, "No change of a single answer would."),
    );
  }

  if (form) {
    form.append(...data.columns.map(control));
    form.addEventListener("input", show);
    form.addEventListener("submit", (event) => event.preventDefault());
    show();
  }

  // Simpler or finer, and others as good ----------------------------------------------------------------------------

  const slider = document.getElementById("slide");
  if (slider) {
    const slide = () => {
      const place = Number(slider.value);
      const point = data.front[place];
      slider.setAttribute("aria-valuetext", point.text);
      document.getElementById("slid").textContent = point.text;
      document.getElementById("slid-tree").replaceChildren(draw(point.tree));
      for (const mark of document.querySelectorAll("#front circle")) {
        mark.classList.toggle("here", Number(mark.dataset.place) === place);
      }
    };
    // On paper, where nothing slides, a list; a very long one would be no help.
    if (data.front.length <= MOST_ON_PAPER) {
      const listed = data.front.map((point) => make("li", {}, point.text));
      const words = document.getElementById("slid");
      words.classList.add("screen");
      words.after(make("ul", { class: "paper" }, ...listed));
    }
    slider.value = String(data.chosen);
    slider.addEventListener("input", slide);
    slide();
  }
  const others = document.getElementById("others");
  if (others) {
    for (const [place, other] of data.others.entries()) {
      const head = make("summary", {}, other.text);
      const region = make("div", { class: "tree wide", tabindex: "0", role: "region", "aria-label": other.text }, draw(other.tree));
      const entry = make("details", {}, head, region);
      entry.open = place < 3;
      others.append(entry);
    }
  }

  // On paper nothing is folded.
  window.addEventListener("beforeprint", () => {
    for (const card of document.querySelectorAll('.card[aria-expanded="false"]')) card.click();
    for (const entry of document.querySelectorAll("details")) entry.open = true;
  });

  window.certree = { data, decide, follow, changes, readForm };
})();
