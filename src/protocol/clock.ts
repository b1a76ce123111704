/** Milliseconds since the epoch; passed in wherever time matters, so that tests can turn it. */
export type Clock = () => number

export const systemClock: Clock = () => Date.now()

export function seconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000)
}
