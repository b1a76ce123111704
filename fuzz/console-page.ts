/** What the programs that load the console share: the times between frames, and what a page holds. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Page } from '../test/support/chromium.ts'

/** Keeps the times between two frames that are longer than those of a smooth page. */
const WATCH = `{
  globalThis.gaps = []
  globalThis.frames = 0
  let before = performance.now()
  const watch = (now) => {
    if (now - before > 40) gaps.push(now - before)
    before = now
    frames++
    requestAnimationFrame(watch)
  }
  requestAnimationFrame(watch)
}`

export interface Watched {
  readonly milliseconds: number
  readonly frames: number
  /** 0 if none was longer than 40 ms. */
  readonly longest: number
  /** Frames over 100 ms. */
  readonly long: number
}

export async function watchFrames(page: Page): Promise<void> {
  await page.evaluate(WATCH)
}

/** The frames while something happens. */
export async function watched(page: Page, act: () => Promise<unknown>): Promise<Watched> {
  await page.evaluate('gaps.length = frames = 0')
  const start = performance.now()
  await act()
  const milliseconds = performance.now() - start
  const frames = await page.evaluate<number>('frames')
  const gaps = await page.evaluate<number[]>('gaps.splice(0)')
  return {
    milliseconds,
    frames,
    longest: Math.round(Math.max(0, ...gaps)),
    long: gaps.filter((gap) => gap > 100).length,
  }
}

export function report(name: string, { milliseconds, frames, longest, long }: Watched): void {
  console.log(
    `${name}: ${Math.round(milliseconds)} ms, ${frames} frames, longest ${longest === 0 ? 'at most 40' : longest} ms, over 100 ms: ${long}`,
  )
}

/** Evaluated by the debugger, which the policy of the page does not concern. */
export async function untilSeen(page: Page, condition: string, withinMs = 120_000): Promise<void> {
  const end = Date.now() + withinMs
  while (!(await page.evaluate<boolean>(`Boolean(${condition})`))) {
    if (Date.now() > end) throw new Error(`Not within ${withinMs} ms: ${condition}`)
    await pause(20)
  }
}

export interface Holdings {
  readonly heapMiB: number
  readonly nodes: number
  readonly listeners: number
}

/** After a collection of garbage. */
export async function readHoldings(page: Page): Promise<Holdings> {
  const client = await page.context().newCDPSession(page)
  try {
    await client.send('HeapProfiler.collectGarbage')
    await client.send('HeapProfiler.collectGarbage')
    await client.send('Performance.enable')
    const { metrics } = await client.send('Performance.getMetrics')
    const metric = (name: string) => metrics.find((one) => one.name === name)?.value ?? 0
    return {
      heapMiB: Math.round((metric('JSHeapUsedSize') / 2 ** 20) * 10) / 10,
      nodes: metric('Nodes'),
      listeners: metric('JSEventListeners'),
    }
  } finally {
    await client.detach()
  }
}
