/** Password hashes: Argon2id as PHC strings, made and checked on the thread pool. */

/** RFC 9106 §4 asks for more memory than a login storm leaves; these are OWASP's first choice. */
const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const
const CURRENT = `$argon2id$v=19$m=${PARAMETERS.memoryCost},t=${PARAMETERS.timeCost},p=${PARAMETERS.parallelism}$`

/** Longer input would only make the server work (C-112). */
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

/** Made with other parameters than those of today. */
export function needsRehash(passwordHash: string): boolean {
  return !passwordHash.startsWith(CURRENT)
}

/** An Argon2 hash in PHC form, as a declarative file may bring it. */
export function isPasswordHash(text: string): boolean {
  return /^\$argon2(id|i|d)\$v=19\$m=\d{1,7},t=\d{1,3},p=\d{1,3}\$[A-Za-z0-9+/]{11,}\$[A-Za-z0-9+/]{22,}$/.test(text)
}

/** The same characters typed on two keyboards give the same password. */
function normal(password: string): string {
  return password.normalize('NFKC')
}

/** Loaded when the first password comes: many servers see none for a while. */
function argon2(): Promise<typeof import('@node-rs/argon2')> {
  return import('@node-rs/argon2')
}
