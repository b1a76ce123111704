/** Runs axe-core, which checks the accessibility of the page. */
import { loadAxe } from '../support/axe.ts'
import type { Page } from '../support/chromium.ts'

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
  await loadAxe(page)
  const options = { resultTypes: ['violations'], ...(rules === undefined ? {} : { runOnly: rules }) }
  return page.evaluate(`axe.run(document, ${JSON.stringify(options)}).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`)
}
