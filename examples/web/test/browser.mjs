// Chromium without a window, spoken to over a pipe in its DevTools protocol. No package is needed.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export class Browser {
  constructor(program) {
    this.profile = mkdtempSync(join(tmpdir(), "bitmc-web-"));
    const words = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars", "--disable-dev-shm-usage"];
    // No network: the page must not need one.
    words.push("--host-resolver-rules=MAP * ~NOTFOUND", `--user-data-dir=${this.profile}`, "--remote-debugging-pipe");
    this.process = spawn(program, words, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    [this.waiting, this.number, this.heard] = [new Map(), 0, () => {}];
    let rest = "";
    this.process.stdio[4].on("data", (data) => {
      const messages = (rest + data).split("\0");
      rest = messages.pop();
      messages.forEach((message) => this.hear(JSON.parse(message)));
    });
    this.process.on("error", (error) => this.stop(error));
    this.process.on("exit", () => this.stop(new Error("Chromium has ended")));
  }

  hear({ id, result, error, method, params, sessionId }) {
    if (id === undefined) return this.heard(method, params, sessionId);
    const [resolve, reject] = this.waiting.get(id);
    this.waiting.delete(id);
    if (error) reject(new Error(error.message));
    else resolve(result);
  }

  stop(error) {
    for (const [, reject] of this.waiting.values()) reject(error);
    this.waiting.clear();
  }

  call(method, params = {}, sessionId) {
    return new Promise((resolve, reject) => {
      this.waiting.set(++this.number, [resolve, reject]);
      this.process.stdio[3].write(JSON.stringify({ id: this.number, method, params, sessionId }) + "\0");
    });
  }

  // A page of its own at an address, with all that it says on the console that is wrong.
  async open(address, { width = 1200, height = 1000, scale = 1, mobile = false, dark = false } = {}) {
    const { targetId } = await this.call("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.call("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId, targetId);
    const heard = this.heard;
    this.heard = (method, params, session) => {
      heard(method, params, session);
      if (session === sessionId) page.hear(method, params);
    };
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await page.call(`${domain}.enable`);
    await page.call("Performance.enable", { timeDomain: "threadTicks" });
    await page.call("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: scale, mobile });
    await page.call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
    await page.call("Page.navigate", { url: address });
    return page;
  }

  async close() {
    const ended = new Promise((resolve) => this.process.on("exit", resolve));
    await this.call("Browser.close").catch(() => {});
    await ended;
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

class Page {
  constructor(browser, session, target) {
    Object.assign(this, { browser, session, target, errors: [], asked: [] });
  }

  hear(method, params) {
    if (method === "Runtime.exceptionThrown") {
      const { exception, text } = params.exceptionDetails;
      this.errors.push(exception?.description ?? text);
    }
    if (method === "Runtime.consoleAPICalled") this.errors.push(`${params.type}: ${params.args.map((arg) => arg.value ?? arg.description).join(" ")}`);
    if (method === "Log.entryAdded") this.errors.push(`${params.entry.level}: ${params.entry.text}`);
    // What is fetched beside the file itself and what it has in it.
    if (method === "Network.requestWillBeSent" && !/^(file|data|blob):/.test(params.request.url)) this.asked.push(params.request.url);
  }

  call(method, params) {
    return this.browser.call(method, params, this.session);
  }

  async value(expression) {
    const { result, exceptionDetails } = await this.call("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async until(expression, seconds = 30) {
    const end = Date.now() + 1000 * seconds;
    while (!(await this.value(expression))) {
      if (Date.now() > end || this.errors.length) throw new Error(`${expression} does not come true: ${this.errors[0] ?? `${seconds} s`}`);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }

  async picture() {
    const { data } = await this.call("Page.captureScreenshot", { format: "png" });
    return Buffer.from(data, "base64");
  }

  close() {
    return this.browser.call("Target.closeTarget", { targetId: this.target });
  }
}
