/** Where work on the rows of a result may pause (`lib/turns.ts`). */

/** Rows between two pauses. */
export const ROWS_PER_STEP = 512
/** Work with a row this long takes as long as work with many others. */
const LONG_TEXT = 4096

/** Whether work with the texts of rows pauses before the next one. */
export function isStep(count: number, text: string | undefined): boolean {
  return count % ROWS_PER_STEP === 0 || (text !== undefined && text.length >= LONG_TEXT)
}
