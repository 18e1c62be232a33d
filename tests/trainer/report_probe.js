// Evaluated in a report that a browser has drawn: what is wrong with its looks, and what it shows.
(() => {
  const faults = [];
  const root = document.documentElement;
  const name = (element) => `<${element.localName}> "${element.textContent.trim().slice(0, 40)}"`;

  const luminance = ([red, green, blue]) => {
    const linear = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
  };
  const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
  // A translucent background lies on that of the parent.
  const backdrop = (element) => {
    if (!element) return [255, 255, 255];
    const [red, green, blue, alpha = 1] = numbers(getComputedStyle(element).backgroundColor);
    if (alpha === 1) return [red, green, blue];
    const below = backdrop(element.parentElement);
    return [red, green, blue].map((part, i) => alpha * part + (1 - alpha) * below[i]);
  };
  const background = (element) => luminance(backdrop(element));
  const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);

  if (document.compatMode !== "CSS1Compat") faults.push("the page is drawn in quirks mode");
  for (const element of document.querySelectorAll("html, body, body *:not(svg, svg *)")) {
    const hides = element === root || getComputedStyle(element).overflowX !== "visible";
    if (hides && element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 1) {
      faults.push(`overflow: ${name(element)} has ${element.clientWidth} pixels ` +
                  `for ${element.scrollWidth}`);
    }
  }

  // Every piece of text: where it is, and what may cut it.
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const owner = node.parentElement;
    if (!node.data.trim() || owner.closest("title, style, script")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const rects = [...range.getClientRects()].filter((rect) => rect.width > 0);
    if (rects.length === 0) faults.push(`cut: ${name(owner)} cannot be seen`);
    const ratio = contrast(luminance(numbers(getComputedStyle(owner).color)), background(owner));
    if (ratio < 4.5) faults.push(`faint: ${name(owner)} has a contrast of ${ratio.toFixed(2)}`);
    for (const rect of rects) {
      if (rect.height < 11) faults.push(`tiny: ${name(owner)} is ${rect.height} pixels high`);
      texts.push({node, owner, rect});
      for (let box = owner; box && box !== root; box = box.parentElement) {
        const style = getComputedStyle(box), frame = box.getBoundingClientRect();
        if (style.overflowX === "visible" && style.overflowY === "visible") continue;
        if (rect.left < frame.left - 1 || rect.right > frame.right + 1 ||
            rect.top < frame.top - 1 || rect.bottom > frame.bottom + 1) {
          faults.push(`cut: ${name(owner)} reaches beyond its box`);
        }
      }
      if (rect.left < -1 || rect.right > root.clientWidth + 1) {
        faults.push(`cut: ${name(owner)} reaches beyond the page`);
      }
    }
  }
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5 &&
                         Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1.5;
  texts.forEach((one, index) => {
    for (const other of texts.slice(index + 1)) {
      if (one.node !== other.node && meet(one.rect, other.rect)) {
        faults.push(`overlap: ${name(one.owner)} and ${name(other.owner)}`);
      }
    }
  });
  for (const picture of document.querySelectorAll("svg")) {
    for (const {owner, rect} of texts) {
      if (meet(rect, picture.getBoundingClientRect())) {
        faults.push(`overlap: ${name(owner)} and a picture`);
      }
    }
  }

  const rows = (title) => {
    const heading = [...document.querySelectorAll("h2")].find((h) => h.textContent === title);
    const list = heading ? heading.nextElementSibling.querySelectorAll("div") : [];
    // Without the default, which is beside the value.
    const shown = (cell) => {
      const copy = cell.cloneNode(true);
      const beside = copy.querySelector("small");
      if (!beside) return copy.textContent;  // it may be a blank
      beside.remove();
      return copy.textContent.trimEnd();
    };
    return [...list].map((row) => [...row.children].map(shown));
  };
  const middle = (tick, axis) => {
    const rect = tick.getBoundingClientRect();
    return axis === "x" ? (rect.left + rect.right) / 2 : (rect.top + rect.bottom) / 2;
  };
  const charts = [...document.querySelectorAll(".chart")].map((chart) => {
    const keys = [...chart.querySelectorAll(".key li")].map((key) => key.textContent);
    const ticks = (axis) => [...chart.querySelectorAll("." + axis)].map(
        (tick) => [tick.textContent, middle(tick, axis)]);
    const curves = [...chart.querySelectorAll("polyline")].map((line, index) => {
      const matrix = line.getScreenCTM();
      const dots = [];
      for (let dot = line.nextElementSibling; dot && dot.localName === "path";
           dot = dot.nextElementSibling) {
        dots.push(dot.textContent);
      }
      const points = [...line.points].map((point) => {
        const at = point.matrixTransform(matrix);
        return [at.x, at.y];
      });
      return {key: keys[index], points, dots};
    });
    return {title: chart.querySelector("h2").firstChild.data.trim(), curves,
            x: ticks("x"), y: ticks("y")};
  });
  const tables = Object.fromEntries([...document.querySelectorAll("section table")].map((table) => [
    table.closest("section").querySelector("h2").textContent,
    [...table.rows].slice(1).map((row) => [...row.cells].map((cell) => cell.textContent))]));
  const headline = document.querySelector(".headline b");
  const facts = document.querySelector(".facts");
  return {faults, charts, tables, headline: headline ? headline.textContent : "",
          examples: [...document.querySelectorAll(".examples > li > p")].map((p) => p.textContent),
          changed: [...document.querySelectorAll(".changed dt")].map((name) => name.textContent),
          about: facts ? facts.textContent : "", results: rows("Results"), settings: rows("Settings"),
          summary: document.querySelector("p").textContent,
          dark: background(document.body) < 0.5};
})()
