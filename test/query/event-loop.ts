/** Measures how long something holds the event loop. */
import { setTimeout as sleep } from 'node:timers/promises'

const TRIES = 3
/** The promise of the product, on an ordinary machine. */
const LIMIT_MS = 100
/** What `calibrate` takes on an ordinary machine: the one the limit was set on. */
const CALIBRATION_MS = 12

export interface LongestTurn {
  readonly milliseconds: number
  /** 100 ms on an ordinary machine, and more on a slower one in proportion. */
  readonly limit: number
}

/**
 * The longest turn of the event loop, the best of three tries. It is measured in CPU time of the main thread, because on a busy machine
 * other processes delay the event loop too.
 *
 * CPU time still depends on the machine: on one that is slow, or whose cores are shared, the same work takes more of it. So a fixed
 * piece of work is measured in the same process, around every try, and the limit grows by as much as that took longer than on the
 * machine that the limit was set on. It never shrinks on a faster one.
 */
export async function longestTurn(
  act: () => Promise<void>,
  prepare: () => Promise<void> = async () => {},
): Promise<LongestTurn> {
  let best: LongestTurn = { milliseconds: Number.POSITIVE_INFINITY, limit: 0 }
  for (let attempt = 0; attempt < TRIES && best.milliseconds > best.limit * 0.8; attempt++) {
    await prepare()
    const slower = Math.max(1, calibrate() / CALIBRATION_MS)
    const milliseconds = await longest(act)
    const limit = LIMIT_MS * Math.max(slower, calibrate() / CALIBRATION_MS)
    if (!(milliseconds / limit >= best.milliseconds / best.limit)) best = { milliseconds, limit }
  }
  return best
}

async function longest(act: () => Promise<void>): Promise<number> {
  const turns = watchTurns()
  await act()
  return turns.end()
}

/** The longest turn until `end`, in milliseconds as an ordinary machine would take. */
export function measureTurns(): { end(): Promise<number> } {
  const before = calibrate()
  const turns = watchTurns()
  return {
    end: async () => (await turns.end()) / Math.max(1, Math.max(before, calibrate()) / CALIBRATION_MS),
  }
}

function watchTurns(): { end(): Promise<number> } {
  let longest = 0
  let before = process.threadCpuUsage()
  const timer = setInterval(() => {
    longest = Math.max(longest, cpuSince(before))
    before = process.threadCpuUsage()
  }, 1)
  // A test that has failed does not end it, and its file shall end.
  timer.unref()
  return {
    async end() {
      // The last turn is measured by the next one.
      await sleep(5)
      clearInterval(timer)
      return longest
    },
  }
}

const CALIBRATION_TEXT = JSON.stringify(Array.from({ length: 2000 }, (_, id) => ({ id, text: `row ${id}` })))

/** The CPU time of a fixed piece of work that is much like the server's: parsing, allocating, collecting garbage. */
function calibrate(): number {
  const before = process.threadCpuUsage()
  for (let round = 0; round < 20; round++) JSON.stringify(JSON.parse(CALIBRATION_TEXT))
  return cpuSince(before)
}

function cpuSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}
