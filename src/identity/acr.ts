/** What a sign-in was worth: `acr` follows from `amr`, so that neither can say more than happened. */

const SINGLE_FACTOR = '1'
/** Two factors, or a passkey that checked its holder. */
export const MULTI_FACTOR = '2'

/** RFC 8176 §2 names the methods; `mfa` is there only when two factors were really proven. */
export function acrOf(amr: readonly string[]): string {
  return amr.includes('mfa') ? MULTI_FACTOR : SINGLE_FACTOR
}
