/** The time in milliseconds since the epoch, injected so that tests can control it. */
export type Clock = () => number

export const systemClock: Clock = () => Date.now()

/** Milliseconds for durations: unlike the time of day it never jumps. Its zero means nothing. */
export type MonotonicClock = () => number

export const monotonicClock: MonotonicClock = () => performance.now()

/** One moment on both clocks. */
export interface Moment {
  /** Milliseconds since the epoch. */
  readonly time: number
  readonly monotonic: number
}

export function seconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000)
}
