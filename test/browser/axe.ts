/** Runs axe-core, which checks the accessibility of the page. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from '../support/chromium.ts'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What colours and the width of the window can change; names, roles and structure stay. */
export const OF_APPEARANCE: readonly string[] = [
  'color-contrast',
  'link-in-text-block',
  'scrollable-region-focusable',
  'target-size',
  'meta-viewport',
  'button-name',
  'link-name',
]

/** One line for each violation, of all rules or of some: the rule and the elements. */
export async function findViolations(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(`${source}; undefined`)
  const options = { resultTypes: ['violations'], ...(rules === undefined ? {} : { runOnly: rules }) }
  return page.evaluate(`axe.run(document, ${JSON.stringify(options)}).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`)
}
