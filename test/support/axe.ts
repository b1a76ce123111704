/** The source of axe-core, which checks the accessibility of a page, for the debugger of the browser to evaluate. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from './chromium.ts'

/** As ASCII: a few wide characters would double its size in the browser, and the time to load it into a page. */
const SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8').replace(
  /[^\0-\x7f]/g,
  (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
)

/** Defines `axe` in a page, once. The policy of the page does not concern the debugger. */
export async function loadAxe(page: Page): Promise<void> {
  if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(`${SOURCE}; undefined`)
}
