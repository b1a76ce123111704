/** The published JSON Schema of the declarative file. */
import { fileName, SETTINGS, settingNames } from '../config.ts'
import { DECLARATION } from './shape.ts'

export function declarationJsonSchema(): object {
  // Through JSON, so that nothing of the library that made the schema is left in it.
  const { properties, ...rest } = JSON.parse(JSON.stringify(DECLARATION), portable)
  const { patternProperties, additionalProperties, ...settings } = properties.settings
  const value = patternProperties?.['^.*$'] ?? additionalProperties
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    ...rest,
    properties: {
      ...properties,
      settings: {
        ...settings,
        properties: Object.fromEntries(
          settingNames()
            .filter((name) => name !== 'config')
            .map((name) => [fileName(name), { ...value, description: SETTINGS[name].help }]),
        ),
        additionalProperties: false,
      },
    },
  }
}

/**
 * JSON Schema Core §6.4: patterns keep to what every dialect knows, and classes of Unicode are not among it (Python refuses
 * them). Editors are told of the control characters; the server itself refuses whatever is no character.
 */
function portable(key: string, value: unknown): unknown {
  return key === 'pattern' && typeof value === 'string' ? value.replaceAll('\\p{C}', '\\x00-\\x1f\\x7f-\\x9f') : value
}
