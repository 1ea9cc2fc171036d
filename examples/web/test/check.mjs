// Opens the page from the disk and compares what it draws:   node check.mjs PAGE.html FOLDER LIST
// FOLDER and LIST are those of reference.rs. Every case has a deliberately wrong variant, which must be seen.
import { readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { Browser } from "./browser.mjs";

const [page, folder, list] = process.argv.slice(2);
const browser = new Browser(process.env.CHROMIUM ?? "chromium");
let failures = 0;
const failed = (what) => {
  failures++;
  console.log(`FAILED: ${what}`);
};

// The pixels of a bitmap, 1 or 0.
function bitmap(path) {
  const bytes = readFileSync(path);
  const [, width, height] = bytes.toString("latin1", 0, 30).match(/^P4\n(\d+) (\d+)\n/);
  const [across, head] = [Math.ceil(width / 8), 4 + `${width} ${height}`.length];
  return Array.from({ length: width * height }, (_, at) => {
    const [x, y] = [at % width, Math.floor(at / width)];
    return (bytes[head + y * across + (x >> 3)] >> (7 - (x & 7))) & 1;
  });
}

// How many pixels of a canvas are not those of the bitmap. On the page a site that is 0 has the colour of the canvas itself.
const drawn = (section, number) => `(() => {
  const canvas = document.querySelectorAll("#${section} canvas")[${number}];
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const off = getComputedStyle(canvas).backgroundColor.match(/\\d+/g).map(Number);
  return Array.from({ length: data.length / 4 }, (_, at) => +off.some((part, i) => data[4 * at + i] !== part)).join("");
})()`;

async function shown(section, number, address) {
  const tab = await browser.open(`file://${page}#${address}`);
  try {
    await tab.until("document.body?.dataset.ready");
    const steps = address.match({ lattice: /(?:^|&)at=(\d+)/, digits: /digit-at=(\d+)/, plane: /plane-at=(\d+)/ }[section])[1];
    // What is out of sight stands still.
    await tab.value(`document.getElementById("${section}").scrollIntoView()`);
    await tab.until(`document.getElementById("${section}").dataset.at === "${steps}"`, 60);
    const bits = await tab.value(drawn(section, number));
    const said = await tab.value(`document.getElementById("same-bits").textContent`);
    if (!said.endsWith("yes")) failed(`the page says "${said}"`);
    if (tab.errors.length) failed(`the console says ${tab.errors[0]}`);
    if (tab.asked.length) failed(`the page asks for ${tab.asked[0]}`);
    return bits;
  } finally {
    await tab.close();
  }
}

const differ = (bits, expected) => (bits.length === expected.length ? expected.filter((bit, at) => bit !== +bits[at]).length : Infinity);

async function pictures() {
  for (const line of readFileSync(list, "utf8").trim().split("\n")) {
    const [name, section, number, address] = line.split("\t");
    const expected = bitmap(join(folder, `${name}.pbm`));
    for (const simd of [1, 0]) {
      const wrong = differ(await shown(section, number, `${address}&simd=${simd}`), expected);
      if (wrong) failed(`${name}, simd=${simd}: ${wrong} of ${expected.length} pixels are wrong`);
    }
    // Negative controls: another seed, and of the lattice another temperature.
    const others = [address.replace(/seed=(\d+)/, (_, seed) => `seed=${seed === "1" ? 2 : seed - 1}`)];
    if (section === "lattice") others.push(address.replace(/T=[\d.]+/, "T=2.6"));
    const seen = [];
    for (const other of others) {
      const wrong = differ(await shown(section, number, other), expected);
      if (wrong === 0) failed(`${name}: ${other} cannot be told from ${address}`);
      seen.push(wrong);
    }
    console.log(`${name}: ${expected.length} pixels equal with and without SIMD; with another ${["seed", "temperature"].slice(0, seen.length).join(", ")} ${seen.join(", ")} differ`);
  }
}

// Broken pages, each with one change in its text, and wrong addresses: what is wrong must be seen.
async function faults() {
  const text = readFileSync(page, "utf8");
  const broken = join(folder, "broken.html");
  const seen = [
    ["a damaged module", /(id="wasm-simd">\s*.{1000})./, "$1!", "", (tab) => tab.errors[0]],
    ["other bits than committed", "calls.committed_hash(index)", "calls.committed_hash(index) ^ 1", "", (tab) => tab.errors[0]],
    ["a word on the console", "colours.read();", 'colours.read(); console.warn("a word");', "", (tab) => tab.errors[0]],
    ["a request over the network", "colours.read();", 'colours.read(); new Image().src = "http://bitmc.invalid/";', "", (tab) => tab.asked[0]],
    ["a wrong side", "", "", "side=100", (tab) => tab.errors[0]],
    ["a wrong temperature", "", "", "T=0", (tab) => tab.errors[0]],
    ["a wrong drawing", "", "", "drawn=abc", (tab) => tab.errors[0]],
  ];
  for (const [what, from, to, address, found] of seen) {
    if (from !== "" && text.replace(from, to) === text) failed(`${what}: the page has nothing to break`);
    writeFileSync(broken, text.replace(from, to));
    const tab = await browser.open(`file://${broken}#${address || "side=64"}`);
    await tab.until("document.body?.dataset.ready || !document.getElementById('fault').hidden", 20).catch(() => {});
    for (let tries = 0; tries < 100 && !found(tab); tries++) await new Promise((resolve) => setTimeout(resolve, 50));
    if (found(tab)) console.log(`caught: ${what} (${found(tab)})`);
    else failed(`${what} is not seen`);
    if (what.startsWith("other bits") && !(await tab.value(`document.getElementById("same-bits").textContent`)).endsWith("no")) failed("the page says yes to other bits");
    await tab.close();
  }
}

// How far the measured dot is above the curve of a plot, in the plot's own units of length, at its temperature or another one.
const above = (plot, right) => `(() => {
  const svg = document.querySelector("#plot-${plot} svg");
  const dot = svg.querySelector(".mean");
  const [x, y] = [+dot.getAttribute("cx") + ${right}, +dot.getAttribute("cy")];
  const points = svg.querySelector(".curve").getAttribute("d").slice(1).split("L").map((pair) => pair.split(",").map(Number));
  const next = points.findIndex(([place]) => place >= x);
  const [[x0, y0], [x1, y1]] = [points[next - 1], points[next]];
  return y0 + ((y1 - y0) * (x - x0)) / (x1 - x0) - y;
})()`;

// Measured means are on the exact curves: 144 units are 1 of |m| and 1.5 of the energy. Above the critical temperature a lattice
// of this size has an |m| of a few hundredths. The same dots must be off the curves at a temperature that is .3 higher.
async function onsager() {
  for (const [temperature, magnetisation] of [[1.8, 2], [2.1, 2], [2.6, 12]]) {
    const tab = await browser.open(`file://${page}#side=128&sampler=swendsen-wang&T=${temperature}&steps=16&at=1008`);
    await tab.until("document.body?.dataset.ready");
    await tab.until(`document.getElementById("lattice").dataset.at === "1008"`, 60);
    const [m, e, wrong] = [await tab.value(above("magnetisation", 0)), await tab.value(above("energy", 0)), await tab.value(above("energy", (0.3 * 258) / 3))];
    if (!(Math.abs(m) < magnetisation)) failed(`|m| at T = ${temperature} is ${(m / 144).toFixed(3)} above the curve`);
    if (!(Math.abs(e) < 1.5)) failed(`the energy at T = ${temperature} is ${((1.5 * e) / 144).toFixed(3)} above the curve`);
    if (Math.abs(wrong) < 5) failed(`the energy at T = ${temperature} is on the curve at ${temperature + 0.3} too`);
    console.log(`T = ${temperature}: |m| ${(m / 144).toFixed(4)}, energy ${((1.5 * e) / 144).toFixed(4)} above the curve; energy ${((1.5 * wrong) / 144).toFixed(3)} above that of T + .3`);
    await tab.close();
  }
}

// A link: what the page writes to the address shows the same picture.
async function link() {
  const tab = await browser.open(`file://${page}#side=64&sampler=wolff&start=aligned&seed=7`);
  await tab.until("document.body?.dataset.ready");
  await tab.until(`+document.getElementById("lattice").dataset.at > 20`);
  await tab.value(`document.getElementById("link").click()`);
  const [bits, address] = [await tab.value(drawn("lattice", 0)), await tab.value("location.hash.slice(1)")];
  await tab.close();
  const wrong = differ(await shown("lattice", 0, address), [...bits].map(Number));
  if (wrong) failed(`the link ${address} shows another picture: ${wrong} pixels`);
  else console.log(`a link shows the same picture: #${address}`);
}

// A slider is in the address, and a picture with a history gets no link to a step.
async function slider() {
  const tab = await browser.open(`file://${page}#side=64&seed=7`);
  await tab.until("document.body?.dataset.ready");
  await tab.until(`+document.getElementById("lattice").dataset.at > 5`);
  await tab.value(`(() => { const slider = document.getElementById("temperature"); slider.value = 1.5; slider.dispatchEvent(new Event("input")); })()`);
  await tab.until(`location.hash.includes("T=1.5")`);
  await tab.value(`document.getElementById("link").click()`);
  const [address, hint] = [await tab.value("location.hash"), await tab.value(`document.getElementById("link-hint").textContent`)];
  if (/[#&]at=/.test(address) || !hint.includes("changed")) failed(`a picture with a history has the link ${address}`);
  else console.log("a slider moves the lattice, and its picture has no link to a step");
  if (tab.errors.length) failed(`the console says ${tab.errors[0]}`);
  await tab.close();
}

// A stroke in the upper half, of a finger or the mouse, is held by all chains: how many pixels it has, or what is wrong.
async function stroke(finger, file = page) {
  const tab = await browser.open(`file://${file}#side=64&at=1`, { width: 390, height: 844, mobile: finger });
  await tab.call("Emulation.setTouchEmulationEnabled", { enabled: finger });
  await tab.until("document.body?.dataset.ready");
  await tab.value(`document.getElementById("pad").scrollIntoView({ block: "center" })`);
  const box = await tab.value(`(({ x, y, width }) => ({ x, y, width }))(document.getElementById("pad").getBoundingClientRect())`);
  for (let part = 0; part <= 11; part++) {
    const place = { x: box.x + (0.3 + 0.04 * part) * box.width, y: box.y + (0.3 + 0.01 * part) * box.width };
    const [down, up] = [part === 0, part === 11];
    if (finger) {
      await tab.call("Input.dispatchTouchEvent", { type: down ? "touchStart" : up ? "touchEnd" : "touchMove", touchPoints: up ? [] : [place] });
    } else {
      const type = down ? "mousePressed" : up ? "mouseReleased" : "mouseMoved";
      await tab.call("Input.dispatchMouseEvent", { type, ...place, button: "left", buttons: 1, clickCount: 1 });
    }
  }
  await tab.until(`+document.getElementById("digits").dataset.at > 5`);
  const upper = [];
  for (let number = 0; number < 9; number++) upper.push((await tab.value(drawn("digits", number))).slice(0, 392));
  const on = [...upper[0]].filter((bit) => bit === "1").length;
  const [width, errors] = [await tab.value("document.documentElement.scrollWidth"), tab.errors];
  await tab.close();
  if (!upper.every((half) => half === upper[0])) return "chains do not hold what is drawn";
  if (on < 20 || on > 80) return `a stroke over a third of the width has ${on} pixels`;
  if (width > 390) return `on a phone of 390 pixels the page is ${width} wide`;
  return errors[0] ?? on;
}

async function strokes() {
  for (const finger of [false, true]) {
    const on = await stroke(finger);
    if (typeof on === "string") failed(on);
    else console.log(`a stroke of ${finger ? "a finger" : "the mouse"}: ${on} pixels, held by nine chains`);
  }
  const broken = join(folder, "broken.html");
  writeFileSync(broken, readFileSync(page, "utf8").replace("held[index] = this.held() ? this.mask(index) : 0", "held[index] = 0"));
  const said = await stroke(false, broken);
  if (typeof said === "string") console.log(`caught: nothing clamped (${said})`);
  else failed("chains without clamped pixels are not seen");
}

// Frames a second depend on what else the machine does; the processor time of a frame does so less. Of Gibbs sampling it must
// leave room for 60 frames a second.
async function speed() {
  const room = 1000 / 60;
  for (const sampler of ["gibbs", "dmala", "ab-edge", "swendsen-wang"]) {
    const tab = await browser.open(`file://${page}#side=512&sampler=${sampler}`, { width: 1200, height: 800 });
    await tab.until("document.body?.dataset.ready");
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const busy = async () => (await tab.call("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value;
    const before = await busy();
    const [frames, time] = await tab.value(`new Promise((resolve) => {
      let count = 0;
      const begin = performance.now();
      const frame = (now) => (now - begin < 2000 ? (count++, requestAnimationFrame(frame)) : resolve([count, now - begin]));
      requestAnimationFrame(frame);
    })`);
    const each = (1000 * ((await busy()) - before)) / frames;
    const said = await tab.value(`document.getElementById("lattice-numbers").textContent`);
    console.log(
      `512 × 512, ${sampler}: ${((1000 * frames) / time).toFixed(1)} frames a second, ${each.toFixed(1)} ms of one thread a frame, ` +
        `${said.match(/updates a second ([\d.,…]+)/)[1]} million site updates a second; ${loadavg()[0].toFixed(1)} processes on ${cpus().length} cores`,
    );
    if (sampler === "gibbs" && !(each < room)) failed(`a frame of Gibbs sampling takes ${each.toFixed(1)} ms of one thread, more than ${room.toFixed(1)}`);
    if (tab.errors.length) failed(`the console says ${tab.errors[0]}`);
    await tab.close();
  }
}

try {
  for (const part of [pictures, faults, onsager, link, slider, strokes, speed]) await part();
} catch (error) {
  failed(error.message);
}
await browser.close();
process.exitCode = failures ? 1 : 0;
