/** The scopes that tables, feeds and topics can demand: those of the platform, and those that are declared for it. */
import { isPlatformScope, SCOPES } from 'gatehouse-protocol'
import { gate, may } from '../gate.ts'
import { type Choice, useLoad } from '../ui/index.ts'
import { rightText } from '../ui/rights.tsx'
import type { Scope } from './scopes.ts'

const OWN: readonly string[] = SCOPES.filter(isPlatformScope)

/** Choices for a field. `present` is offered too, whatever it is. */
export function usePlatformScopes(...present: readonly string[]): readonly Choice[] {
  // Those who may not administer identities are offered the ones that every server has.
  const { data = OWN } = useLoad((signal) => (may('Identity/Admin') ? listScopes(signal) : Promise.resolve(OWN)), [])
  return [...new Set([...data, ...present.filter((scope) => scope !== '')])].map(scopeChoice)
}

export function scopeChoice(scope: string): Choice {
  const text = rightText(scope)
  return { value: scope, title: text === undefined ? scope : `${text} (${scope})` }
}

async function listScopes(signal: AbortSignal): Promise<readonly string[]> {
  const found: string[] = []
  for await (const scope of gate.admin.scopes.list({}, { signal })) {
    const { name, resource } = scope as unknown as Scope
    if (resource === 'platform') found.push(name)
  }
  return found
}
