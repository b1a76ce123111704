/** Texts that cannot be guessed: states, verifiers, idempotency keys. */

/** 256 random bits as digits, which are valid in every protocol. `randomUUID` is not available on pages loaded over plain HTTP. */
export function random(): string {
  return crypto.getRandomValues(new Uint32Array(8)).join('-')
}
