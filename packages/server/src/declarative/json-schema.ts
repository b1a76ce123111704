/** The published JSON Schema of the declarative file. */
import { fileName, SETTINGS, settingNames } from '../config/config.ts'
import { FILE } from './shape.ts'

export function declarationJsonSchema(): object {
  // Through JSON, which drops what is not part of the schema.
  const { properties, ...rest } = JSON.parse(JSON.stringify(FILE.schema), portable)
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
            .filter((name) => name !== 'config' && name !== 'settingsFile')
            .map((name) => [fileName(name), { ...value, description: SETTINGS[name].help }]),
        ),
        additionalProperties: false,
      },
    },
  }
}

/**
 * JSON Schema Core §6.4: patterns should use only what every dialect supports, which excludes Unicode classes (Python
 * rejects them). The published pattern excludes control characters; the server checks the Unicode class.
 */
function portable(key: string, value: unknown): unknown {
  return key === 'pattern' && typeof value === 'string' ? value.replaceAll('\\p{C}', '\\x00-\\x1f\\x7f-\\x9f') : value
}
