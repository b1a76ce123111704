// The licences of the packages whose code is part of our files: they ask for their text to go with it.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** `components` are those of the bill of materials. */
export function writeNotices(root, components) {
  const bundled = components.filter(({ properties }) => properties.some(({ value }) => value === 'bundled'))
  return bundled.map(({ name, version, licenses }) => {
    const folder = join(root, 'node_modules', name)
    const file = existsSync(folder) && readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry))
    const text = file ? readFileSync(join(folder, file), 'utf8').trim() : `Licence: ${licenses[0].license.id}`
    return `${name} ${version}\n${'='.repeat(`${name} ${version}`.length)}\n\n${text}\n`
  })
}
