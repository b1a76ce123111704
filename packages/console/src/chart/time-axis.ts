/** The time axis: hours without points, such as nights and weekends, take hardly any room. */

/** Points between two breaks. A time of it is drawn at `time + shift`. */
interface Session {
  readonly start: number
  readonly end: number
  readonly shift: number
}

const HOUR = 3_600_000
const DAY = 24 * HOUR
/** No trading day has a shorter pause. */
const SHORTEST_PAUSE = 50 * 60_000
/** A pause is this much longer than three of four steps are: events at random times have none. */
const TIMES_LONGER = 8
/** A line of days goes on over a weekend with a holiday. */
const LONGEST_WEEKEND = 5 * DAY
/** The part of the axis that a pause takes. */
const PAUSE_SHARE = 0.006
const SAMPLE = 2000

export class TimeAxis {
  readonly #sessions: readonly Session[]
  /** Indexes of points before which time is left out. */
  readonly breaks: readonly number[]
  /** Those before which a line ends. */
  readonly gaps: readonly number[]

  /** `times` ascend. Positions are times of the last session, so that they stay while points are added. */
  constructor(times: readonly number[], isCompressed: boolean) {
    const pauses = findPauses(times)
    this.gaps = pauses.filter(({ isGap }) => isGap).map(({ index }) => index)
    this.breaks = isCompressed ? pauses.map(({ index }) => index) : []
    const sessions: Session[] = []
    let [shift, end] = [0, times.length - 1]
    for (const { index, width } of isCompressed ? [...pauses].reverse() : []) {
      sessions.unshift({ start: times[index] ?? 0, end: times[end] ?? 0, shift })
      shift += (times[index] ?? 0) - (times[index - 1] ?? 0) - width
      end = index - 1
    }
    sessions.unshift({ start: times[0] ?? 0, end: times[end] ?? 0, shift })
    this.#sessions = sessions
  }

  /** Where a time is drawn. A time that is left out is where the next session starts. */
  at(time: number): number {
    const session = this.#sessions.find(({ end }) => time <= end) ?? this.#sessions.at(-1)
    if (session === undefined) return time
    const isFirst = session === this.#sessions[0]
    return (isFirst ? time : Math.max(time, session.start)) + session.shift
  }

  /** The time that is drawn at a position. */
  timeAt(position: number): number {
    const session = this.#sessions.findLast(({ start, shift }) => position >= start + shift) ?? this.#sessions[0]
    if (session === undefined) return position
    const isLast = session === this.#sessions.at(-1)
    const time = position - session.shift
    return isLast ? time : Math.min(time, session.end)
  }

  /** The spans of time between two positions. */
  spans(from: number, to: number): readonly { readonly start: number; readonly end: number }[] {
    const last = this.#sessions.length - 1
    return this.#sessions.flatMap(({ start, end, shift }, index) => {
      const low = Math.max(index === 0 ? from : start + shift, from) - shift
      const high = Math.min(index === last ? to : end + shift, to) - shift
      return low <= high ? [{ start: low, end: high }] : []
    })
  }
}

interface Pause {
  readonly index: number
  /** What is left of it. */
  readonly width: number
  readonly isGap: boolean
}

function findPauses(times: readonly number[]): readonly Pause[] {
  const { median, upper } = typicalSteps(times)
  if (median === 0) return []
  const isDaily = median >= 20 * HOUR && median <= 28 * HOUR
  if (median > 28 * HOUR) return []
  const longest = isDaily ? 1.5 * median : Math.max(SHORTEST_PAUSE, TIMES_LONGER * upper)
  const found: number[] = []
  let left = 0
  for (let index = 1; index < times.length; index++) {
    const step = (times[index] ?? 0) - (times[index - 1] ?? 0)
    if (step > longest) found.push(index)
    else left += step
  }
  const width = isDaily ? median : Math.max(median, left * PAUSE_SHARE)
  return found.map((index) => ({
    index,
    width,
    isGap: !isDaily || (times[index] ?? 0) - (times[index - 1] ?? 0) > LONGEST_WEEKEND,
  }))
}

/** The median of the steps between points, and the step that three of four do not exceed. */
function typicalSteps(times: readonly number[]): { median: number; upper: number } {
  const steps: number[] = []
  const stride = Math.max(1, Math.floor(times.length / SAMPLE))
  for (let index = 1; index < times.length; index += stride) {
    const step = (times[index] ?? 0) - (times[index - 1] ?? 0)
    if (step > 0) steps.push(step)
  }
  steps.sort((a, b) => a - b)
  if (steps.length < 3) return { median: 0, upper: 0 }
  return { median: steps[steps.length >> 1] ?? 0, upper: steps[Math.floor(steps.length * 0.75)] ?? 0 }
}
