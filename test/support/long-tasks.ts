/** How long a page was busy at a time. */
import type { Page } from './chromium.ts'

interface TraceEvent {
  readonly name: string
  readonly pid: number
  readonly tid: number
  /** Processor time of the thread, in microseconds. */
  readonly tdur?: number
  readonly args?: { readonly name?: string }
}

/**
 * The longest task of the main thread of a page while something happens, in milliseconds of processor time: no frame waits
 * longer, except for what else runs on the machine. One at a time in a browser.
 */
export async function longestTask(page: Page, act: () => Promise<unknown>): Promise<number> {
  const browser = page.context().browser()
  if (browser === null) throw new Error('The page has no browser')
  await browser.startTracing(page, { categories: ['toplevel'] })
  let trace: Buffer | undefined
  try {
    await act()
  } finally {
    trace = await browser.stopTracing()
  }
  const { traceEvents } = JSON.parse(String(trace)) as { traceEvents: readonly TraceEvent[] }
  const threadKey = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`
  const named = traceEvents.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
  const threads = new Set(named.map(threadKey))
  const tasks = traceEvents.filter(
    (event) => event.name === 'ThreadControllerImpl::RunTask' && threads.has(threadKey(event)),
  )
  if (tasks.length === 0) throw new Error('The trace has no tasks')
  return tasks.reduce((most, { tdur = 0 }) => Math.max(most, tdur / 1000), 0)
}
