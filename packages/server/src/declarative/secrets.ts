/** Resolves secrets given as `{"env": …}` or `{"file": …}`, and texts given as files. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { DeclaredSecret } from '../resources/declared-secret.ts'
import type { AnySection } from '../resources/define-resource.ts'
import { listResources } from '../resources/resources.ts'
import type { Fault } from '../schema/check-schema.ts'
import { declaredIn } from './sections.ts'
import type { Declaration } from './shape.ts'

export interface SecretSources {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Base of relative paths. */
  readonly folder: string
}

/** The declaration with the values. */
export function resolveSecrets(
  declaration: Declaration,
  sources: SecretSources,
  resources: readonly AnySection[] = listResources(),
): { readonly resolved: Declaration; readonly faults: readonly Fault[] } {
  const faults: Fault[] = []
  const resolved = resources.flatMap((resource) => {
    const { section, secret, readFiles } = resource
    const declared = declaredIn(declaration, resource)
    if (declared !== undefined && readFiles !== undefined) {
      const items = declared.map((each, index) =>
        readFiles(each, (member, file) => readText(`${section}[${index}].${member}`, file)),
      )
      return [[section, items] as const]
    }
    if (secret === undefined || declared === undefined) return []
    const items = declared.map((each, index) => {
      const given: DeclaredSecret | undefined = Reflect.get(each, secret.member)
      if (given === undefined) return each
      const found = findSecret(given, sources)
      const fault = 'fault' in found ? found.fault : secret.textFault?.(each, found.text)
      if (fault !== undefined) faults.push({ path: `${section}[${index}].${secret.member}`, text: fault })
      return { ...each, [secret.member]: 'text' in found ? found.text : '' }
    })
    return [[section, items] as const]
  })
  return { resolved: { ...declaration, ...Object.fromEntries(resolved) }, faults }

  function readText(path: string, file: string): string {
    const found = findSecret({ file }, sources)
    if ('fault' in found) faults.push({ path, text: found.fault })
    return 'text' in found ? found.text : ''
  }
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
