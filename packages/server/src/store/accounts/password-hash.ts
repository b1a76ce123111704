/** Password hashes: Argon2id as PHC strings, computed on the thread pool. */

/** OWASP's first choice. RFC 9106 §4 recommends more memory than many concurrent sign-ins leave. */
const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const
const CURRENT = `$argon2id$v=19$m=${PARAMETERS.memoryCost},t=${PARAMETERS.timeCost},p=${PARAMETERS.parallelism}$`

/** Longer input would only cost the server time (C-112). */
export const LONGEST_PASSWORD = 1024
export const SHORTEST_PASSWORD = 8

export async function hashPassword(password: string): Promise<string> {
  const { hash } = await argon2()
  return hash(normal(password), PARAMETERS)
}

export async function verifyPassword(passwordHash: string, password: string): Promise<boolean> {
  if (password.length > LONGEST_PASSWORD) return false
  const { verify } = await argon2()
  return verify(passwordHash, normal(password))
}

/** Whether it was hashed with other than the current parameters. */
export function needsRehash(passwordHash: string): boolean {
  return !passwordHash.startsWith(CURRENT)
}

/** NFKC: keyboards may produce different code points for the same characters. */
function normal(password: string): string {
  return password.normalize('NFKC')
}

/** Loaded on first use. */
function argon2(): Promise<typeof import('@node-rs/argon2')> {
  return import('@node-rs/argon2')
}
