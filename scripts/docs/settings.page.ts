/** docs/settings.md, from the table of settings. */
import { environmentName, fileName, flagName, SETTINGS, type SettingName, settingNames } from '../../src/config.ts'
import { type GeneratedPage, NOTICE } from './page.ts'

export const page: GeneratedPage = {
  path: 'docs/settings.md',
  render: () => `${NOTICE}

# Settings

Every setting can be given in three places. A flag wins over the environment, the environment over the
[declarative file](configuration.md), where settings stand under \`settings\`. Whatever is unknown or cannot be read is
refused at the start, with the nearest name that exists. \`gatehouse config\` shows what is in force and where each value
came from.

| setting | environment | flag | default |
|---|---|---|---|
${settingNames().map(row).join('\n')}

## What they mean

${settingNames().map(meaning).join('\n')}
`,
}

function row(name: SettingName): string {
  return `| [\`${fileName(name)}\`](#${fileName(name)}) | \`${environmentName(name)}\` | \`${flagName(name)}\` | ${shown(SETTINGS[name].default)} |`
}

function meaning(name: SettingName): string {
  const secret = SETTINGS[name].secret === true ? ' A secret: it is never shown.' : ''
  return `<a id="${fileName(name)}"></a>\n- **\`${fileName(name)}\`**: ${SETTINGS[name].help}${secret}`
}

function shown(fallback: string): string {
  return fallback === '' ? 'empty' : `\`${fallback}\``
}
