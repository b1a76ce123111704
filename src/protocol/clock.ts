/** The time in milliseconds since the epoch, injected so that tests can control it. */
export type Clock = () => number

export const systemClock: Clock = () => Date.now()

export function seconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000)
}
