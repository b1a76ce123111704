/** axe-core in the page: everything that it finds wrong for people who see, hear or move differently. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from '../support/chromium.ts'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** One line for each violation: its rule and the elements. */
export async function findBarriers(page: Page): Promise<string[]> {
  await page.evaluate(`${source}; undefined`)
  return page.evaluate(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`)
}
