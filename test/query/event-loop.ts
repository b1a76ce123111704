/** Measures how long something holds the event loop. */
import { setTimeout as sleep } from 'node:timers/promises'

const TRIES = 3
const GOOD_ENOUGH_MS = 50

/**
 * The longest turn of the event loop in milliseconds, the best of three tries. It is measured in CPU time of the main thread, because
 * on a busy machine other processes delay the event loop too.
 */
export async function longestTurn(act: () => Promise<void>): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < TRIES && best > GOOD_ENOUGH_MS; attempt++) {
    let longest = 0
    let before = process.threadCpuUsage()
    const timer = setInterval(() => {
      const { user, system } = process.threadCpuUsage(before)
      before = process.threadCpuUsage()
      longest = Math.max(longest, (user + system) / 1000)
    }, 1)
    await act()
    // The last turn is measured by the next one.
    await sleep(5)
    clearInterval(timer)
    best = Math.min(best, longest)
  }
  return best
}
