// A picture of the page:   node look.mjs PAGE.html ADDRESS OUT.png [WIDTHxHEIGHT] [dark] [phone]
import { writeFileSync } from "node:fs";
import { Browser } from "./browser.mjs";

const [page, hash, out, ...words] = process.argv.slice(2);
const size = words.find((word) => /^\d+x\d+$/.test(word)) ?? "1200x1000";
const [width, height] = size.split("x").map(Number);
const phone = words.includes("phone");
const browser = new Browser(process.env.CHROMIUM ?? "chromium");
try {
  const view = { width, height, mobile: phone, scale: phone ? 2 : 1, dark: words.includes("dark") };
  const tab = await browser.open(`file://${page}#${hash}`, view);
  await tab.until("document.body?.dataset.ready");
  await new Promise((resolve) => setTimeout(resolve, 2500));
  writeFileSync(out, await tab.picture());
  for (const error of tab.errors) console.log(error);
} finally {
  await browser.close();
}
