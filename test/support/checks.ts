/** How often a property with random values is checked: a fourth of the times in `npm test`, which has other values each time. */
export function checks(count: number): number {
  return process.env.TEST_LONG === 'true' ? count : Math.ceil(count / 4)
}
