/** Runs axe-core, which checks the accessibility of the page. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from '../support/chromium.ts'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** One line for each violation: the rule and the elements. */
export async function findViolations(page: Page): Promise<string[]> {
  await page.evaluate(`${source}; undefined`)
  return page.evaluate(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`)
}
