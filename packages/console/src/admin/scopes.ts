/** The scopes of the server. */
import { gate } from '../gate.ts'
import { useLoad } from '../ui/index.ts'

export interface Scope {
  readonly name: string
  /** Null for scopes that ask for claims or a refresh token. */
  readonly resource: string | null
  /** The roles that give it. */
  readonly roles: readonly string[]
}

export function useScopes() {
  return useLoad(async (signal) => {
    const found: Scope[] = []
    for await (const scope of gate.admin.scopes.list({}, { signal })) found.push(scope as unknown as Scope)
    return found
  }, [])
}
