/** Draws docs/console-light.png and docs/console-dark.png: the board of the demonstration, some minutes after its start. */
import { mkdir } from 'node:fs/promises'
import { openConsole } from '../test/support/console.ts'

const docs = new URL('../docs/', import.meta.url).pathname
/** So that the candles fill their tile. */
const MARKET_MS = 240_000

await mkdir(docs, { recursive: true })
const scene = await openConsole({ flags: { '--demo-market': 'true' } })
try {
  await new Promise((resolve) => setTimeout(resolve, MARKET_MS))
  for (const theme of ['light', 'dark'] as const) {
    const { page, check, close } = await scene.open('/boards/demo-market', { dark: theme === 'dark', width: 1280 })
    await page.locator('canvas').first().waitFor()
    // Cells that have just changed have another colour.
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    await page.screenshot({ path: `${docs}console-${theme}.png` })
    check()
    await close()
  }
} finally {
  await scene.stop()
}
process.exit(0)
