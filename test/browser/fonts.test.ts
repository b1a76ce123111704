/** The fonts of the test browser: text is laid out with the fonts of the npm package, whatever the machine has. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Page, startChromium, type TestBrowser } from '../support/chromium.ts'

const PROPORTIONAL = ['sans-serif', 'system-ui', 'serif']
const MONOSPACED = ['monospace', 'ui-monospace, monospace']

/** What a stylesheet asks for, and what it gets. */
const FAMILIES: readonly { asked: string; used: string }[] = [
  { asked: 'sans-serif', used: 'DejaVu Sans' },
  { asked: 'system-ui', used: 'DejaVu Sans' },
  { asked: 'system-ui, Roboto, Arial, sans-serif', used: 'DejaVu Sans' },
  { asked: 'a-family-that-nobody-has', used: 'DejaVu Sans' },
  { asked: 'serif', used: 'DejaVu Serif' },
  { asked: 'monospace', used: 'DejaVu Sans Mono' },
  { asked: 'ui-monospace, Menlo, monospace', used: 'DejaVu Sans Mono' },
]

describe('fonts', () => {
  let browser: TestBrowser
  let page: Page
  before(async () => {
    browser = await startChromium()
    page = await (await browser.newContext()).newPage()
  })
  after(() => browser.stop())

  for (const family of PROPORTIONAL) {
    test(`${family} is proportional`, async () => {
      const [narrow, wide] = [await measureWidth('iiii', family), await measureWidth('MMMM', family)]
      assert.ok(0 < narrow && narrow < wide, `iiii is ${narrow} pixels wide, MMMM ${wide}`)
    })
  }

  for (const family of MONOSPACED) {
    test(`${family} is monospaced`, async () => {
      const [narrow, wide] = [await measureWidth('iiii', family), await measureWidth('MMMM', family)]
      assert.ok(narrow > 0)
      assert.equal(narrow, wide)
    })
  }

  const own = process.env.TEST_CHROMIUM !== undefined && 'a browser of the machine has the fonts of the machine'
  for (const { asked, used } of FAMILIES) {
    test(`${asked}: ${used} is used`, { skip: own }, async () => {
      assert.deepEqual(await readFonts('Mi', asked), [used])
    })
  }

  test('a character that no font has does not end the browser', async () => {
    assert.ok((await measureWidth('\u{1F3EF}\u6F22', 'sans-serif')) > 0)
  })

  async function measureWidth(text: string, family: string): Promise<number> {
    await show(text, family)
    const box = await page.locator('span').boundingBox()
    return box?.width ?? 0
  }

  async function readFonts(text: string, family: string): Promise<string[]> {
    await show(text, family)
    const session = await page.context().newCDPSession(page)
    await session.send('DOM.enable')
    await session.send('CSS.enable')
    const { root } = await session.send('DOM.getDocument')
    const { nodeId } = await session.send('DOM.querySelector', { nodeId: root.nodeId, selector: 'span' })
    const { fonts } = await session.send('CSS.getPlatformFontsForNode', { nodeId })
    await session.detach()
    return fonts.map(({ familyName }) => familyName)
  }

  function show(text: string, family: string): Promise<void> {
    return page.setContent(`<!doctype html><meta charset="utf-8"><span style="font: 40px ${family}">${text}</span>`)
  }
})
