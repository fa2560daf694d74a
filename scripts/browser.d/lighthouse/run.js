// Measures the pages of a started platform with Lighthouse: run.js CREDENTIALS FOLDER. FOLDER receives the reports.
'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { create } = require('../dashboards.js');

const [credentials, folder] = process.argv.slice(2);

// measure returns the scores of a page, 0 to 100, by category.
function measure(url, device) {
  const report = path.join(folder, `lighthouse-${device}`);
  execFileSync(process.execPath, [
    require.resolve('lighthouse/cli'), url, '--quiet', '--output=json', '--output=html', `--output-path=${report}`,
    '--chrome-flags=--headless=new --no-sandbox --disable-dev-shm-usage', ...(device === 'desktop' ? ['--preset=desktop'] : []),
  ], { env: { ...process.env, CHROME_PATH: process.env.CHROMIUM }, stdio: ['ignore', 'ignore', 'inherit'] });
  const { categories } = JSON.parse(fs.readFileSync(`${report}.report.json`, 'utf8'));
  return Object.fromEntries(Object.entries(categories).map(([name, { score }]) => [name, Math.round(score * 100)]));
}

async function main() {
  const { dashboards } = await create(JSON.parse(fs.readFileSync(credentials, 'utf8')));
  for (const device of ['mobile', 'desktop']) {
    const scores = measure(`${dashboards.troubled.url}/`, device);
    const full = Object.values(scores).every((score) => score === 100);
    if (!full) process.exitCode = 1;
    console.log(`${full ? 'ok' : 'not ok'} lighthouse: ${device}: ${Object.entries(scores).map(([name, score]) => `${name} ${score}`).join(', ')}`);
  }
}

main();
