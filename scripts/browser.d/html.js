// Runs the W3C checker (vnu) on all HTML documents that were opened.
'use strict';

const { execFile } = require('node:child_process');
const path = require('node:path');
const jar = require('vnu-jar');

// Messages that are ignored, each with the reason.
const exceptions = [
  /Unicode Normalization Form C/, // the page shows the text of the operator as it is written
  /^This document appears to be written in/, // the checker guesses a wrong language from the operator's texts
];

// vnu returns the errors and warnings about the documents in a folder. It returns a message about several documents once.
function vnu(folder) {
  return new Promise((resolve, reject) => {
    execFile('java', ['-Xss4m', '-jar', jar, '--format', 'json', '--stdout', '--exit-zero-always', folder], { maxBuffer: 1 << 28 }, (error, stdout) => {
      if (error) return reject(error);
      const found = new Map();
      for (const { type, subType, message, extract, url, lastLine } of JSON.parse(stdout).messages) {
        if (type === 'info' && subType !== 'warning' || exceptions.some((exception) => exception.test(message))) continue;
        const one = found.get(message) ?? { count: 0, text: `${path.basename(url ?? '')}:${lastLine}: ${message}\n    ${extract}` };
        one.count++;
        found.set(message, one);
      }
      return resolve([...found.values()].map(({ count, text }) => `${count} times, first ${text}`));
    });
  });
}

module.exports = { vnu };
