/** Resolves secrets given as `{"env": …}` or `{"file": …}`. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { DeclaredSecret } from '../resources/declared-secret.ts'
import type { AnySection } from '../resources/define-resource.ts'
import { listResources } from '../resources/resources.ts'
import type { Fault } from '../schema/check-schema.ts'
import { declaredIn } from './sections.ts'
import type { Declaration, DeclaredUser } from './shape.ts'

export interface SecretSources {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Base of relative paths. */
  readonly folder: string
}

export type Resolved<Item, Name extends keyof Item> = Omit<Item, Name> & { readonly [name in Name]?: string }
export type ResolvedUser = Resolved<DeclaredUser, 'password'>
export type ResolvedDeclaration = Omit<Declaration, 'users'> & {
  readonly users?: readonly ResolvedUser[]
}

export function resolveSecrets(
  declaration: Declaration,
  sources: SecretSources,
  resources: readonly AnySection[] = listResources(),
): { readonly resolved: ResolvedDeclaration; readonly faults: readonly Fault[] } {
  const faults: Fault[] = []
  const value = (path: string, secret: DeclaredSecret, findFault?: (text: string) => string | undefined): string => {
    const found = findSecret(secret, sources)
    const fault = 'fault' in found ? found.fault : findFault?.(found.text)
    if (fault !== undefined) faults.push({ path, text: fault })
    return 'text' in found ? found.text : ''
  }
  const { users, ...rest } = declaration
  const resolved = {
    ...rest,
    ...(users && {
      users: users.map(({ password, ...user }, index) =>
        password === undefined ? user : { ...user, password: value(`users[${index}].password`, password) },
      ),
    }),
    ...resolveSections(resources, rest, value),
  }
  return { resolved, faults }
}

type ReadSecret = (path: string, secret: DeclaredSecret, findFault?: (text: string) => string | undefined) => string

/** The lists of resources that have a secret, with the values. */
function resolveSections(
  resources: readonly AnySection[],
  declaration: object,
  value: ReadSecret,
): Readonly<Record<string, readonly object[]>> {
  const resolved = resources.flatMap((resource) => {
    const { section, secret } = resource
    const declared = declaredIn(declaration, resource)
    if (secret === undefined || declared === undefined) return []
    const items = declared.map((each, index) => {
      const given: DeclaredSecret | undefined = Reflect.get(each, secret.member)
      if (given === undefined) return each
      const path = `${section}[${index}].${secret.member}`
      return { ...each, [secret.member]: value(path, given, (text) => secret.textFault?.(each, text)) }
    })
    return [[section, items] as const]
  })
  return Object.fromEntries(resolved)
}

export function findSecret(
  secret: DeclaredSecret,
  { environment, folder }: SecretSources,
): { readonly text: string } | { readonly fault: string } {
  if (typeof secret === 'string') return { text: secret }
  if ('env' in secret) {
    const text = Object.hasOwn(environment, secret.env) ? environment[secret.env] : undefined
    return text === undefined || text === '' ? { fault: `the environment variable ${secret.env} is not set` } : { text }
  }
  try {
    const text = readFileSync(resolve(folder, secret.file), 'utf8').replace(/\r?\n$/, '')
    return text === '' ? { fault: `the file ${secret.file} is empty` } : { text }
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    return { fault: `the file ${secret.file} cannot be read (${reason})` }
  }
}
