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

// A page that is broken must be seen on its console, and a wrong address on the page.
async function faults() {
  const broken = join(folder, "broken.html");
  writeFileSync(broken, readFileSync(page, "utf8").replace(/(id="wasm-simd">\s*.{1000})./, "$1!"));
  for (const [what, address] of [["a damaged module", `${broken}#`], ["a wrong side", `${page}#side=100`], ["a wrong temperature", `${page}#T=0`]]) {
    const tab = await browser.open(`file://${address}`);
    const said = await tab.until("document.body?.dataset.ready", 10).then(() => null, (error) => error.message);
    const visible = await tab.value(`document.getElementById("fault").textContent`);
    if (said === null || !tab.errors.length || !visible) failed(`${what} is not seen`);
    else console.log(`caught: ${what} (${visible})`);
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

// A stroke of the pointer in the upper half is held by all chains; one in the lower half is not.
async function finger() {
  const tab = await browser.open(`file://${page}#side=64&at=1`, { width: 390, height: 844, mobile: true });
  await tab.until("document.body?.dataset.ready");
  await tab.value(`document.getElementById("pad").scrollIntoView({ block: "center" })`);
  const box = await tab.value(`(({ x, y, width }) => ({ x, y, width }))(document.getElementById("pad").getBoundingClientRect())`);
  const at = (type, x, y) => tab.call("Input.dispatchMouseEvent", { type, x: box.x + x * box.width, y: box.y + y * box.width, button: "left", buttons: 1, clickCount: 1 });
  await at("mousePressed", 0.3, 0.3);
  for (let part = 1; part <= 10; part++) await at("mouseMoved", 0.3 + 0.04 * part, 0.3 + 0.03 * part);
  await at("mouseReleased", 0.7, 0.6);
  await tab.until(`+document.getElementById("digits").dataset.at > 5`);
  const upper = [];
  for (let number = 0; number < 9; number++) upper.push((await tab.value(drawn("digits", number))).slice(0, 392));
  const on = [...upper[0]].filter((bit) => bit === "1").length;
  if (!upper.every((half) => half === upper[0])) failed("chains do not hold what was drawn");
  else if (on < 15 || on > 80) failed(`a stroke of ten steps has ${on} pixels`);
  else console.log(`a stroke of the pointer: ${on} pixels, held by nine chains`);
  if (tab.errors.length) failed(`the console says ${tab.errors[0]}`);
  await tab.close();
}

// Frames a second depend on what else the machine does; the processor time of a frame does so less. Of Gibbs sampling it must
// leave room for 60 frames a second.
async function speed() {
  const room = 1000 / 60;
  for (const sampler of ["gibbs", "dmala", "ab-edge", "swendsen-wang"]) {
    const tab = await browser.open(`file://${page}#side=512&sampler=${sampler}`, { width: 1200, height: 800 });
    await tab.until("document.body?.dataset.ready");
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const busy = async () => (await tab.call("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value;
    const before = await busy();
    const [frames, time] = await tab.value(`new Promise((resolve) => {
      let count = 0;
      const begin = performance.now();
      const frame = (now) => (now - begin < 2500 ? (count++, requestAnimationFrame(frame)) : resolve([count, now - begin]));
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
  for (const part of [pictures, faults, link, finger, speed]) await part();
} catch (error) {
  failed(error.message);
}
await browser.close();
process.exitCode = failures ? 1 : 0;
