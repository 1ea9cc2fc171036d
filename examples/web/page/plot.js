// A curve over temperature with two points: the mean of a run and the picture of this frame.
class Plot {
  constructor(figure, { title, curve, low, high, ticks }) {
    const [width, height, left, right, top, bottom] = [300, 210, 34, 8, 26, 40];
    this.x = (t) => left + ((t - 1) / 3) * (width - left - right);
    this.y = (value) => top + ((high - value) / (high - low)) * (height - top - bottom);
    const temperatures = [critical, ...Array.from({ length: 601 }, (_, i) => 1 + i / 200)].sort((a, b) => a - b);
    const path = temperatures.map((t) => `${this.x(t).toFixed(2)},${this.y(curve(t)).toFixed(2)}`).join("L");
    const vertical = ticks.map((v) => `<path class="axis" d="M${left} ${this.y(v)}H${width - right}"/>
      <text x="${left - 6}" y="${this.y(v) + 4}" text-anchor="end">${String(v).replace("-", "−")}</text>`);
    const horizontal = [1, 2, 3, 4].map((t) => `<text x="${this.x(t)}" y="${height - bottom + 16}" text-anchor="middle">${t}</text>`);
    figure.innerHTML = `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${title} against temperature">
      <text class="title" x="${left}" y="13">${title}</text>${vertical.join("")}${horizontal.join("")}
      <text x="${(left + width - right) / 2}" y="${height - 6}" text-anchor="middle">temperature T (J = 1)</text>
      <path class="critical" d="M${this.x(critical)} ${top}V${height - bottom}"/>
      <text x="${this.x(critical) + 5}" y="${top + 10}">T<tspan dy="3" font-size="9">c</tspan></text>
      <path class="curve" d="M${path}"/><circle class="now" r="3.5"/><circle class="mean" r="5.5"/></svg>`;
    this.svg = figure.firstChild;
    this.bounds = [low, high];
  }
  show(temperature, now, mean, field) {
    const [low, high] = this.bounds;
    const put = (name, value) => {
      const circle = this.svg.querySelector(name);
      circle.setAttribute("cx", this.x(temperature));
      circle.setAttribute("cy", this.y(Math.min(Math.max(value, low), high)));
    };
    put(".now", now);
    put(".mean", mean);
    this.svg.classList.toggle("other-field", field !== 0);
  }
}
