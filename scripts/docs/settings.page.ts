/** docs/settings.md, from the table of settings. */
import {
  environmentName,
  fileName,
  flagName,
  SETTINGS,
  type SettingName,
  settingNames,
} from '../../src/config/config.ts'
import { choicesOf } from '../../src/config/parsers.ts'
import { type GeneratedPage, NOTICE } from './page.ts'

export const page: GeneratedPage = {
  path: 'docs/settings.md',
  render: () => `${NOTICE}

# Settings

A setting can be given as a flag, in the environment, or under \`settings\` in the [declarative file](configuration.md), in
this order of precedence. The server refuses to start with an unknown or invalid setting, and suggests the nearest name.
\`gatehouse config\` shows the effective values and the source of each.

| setting | environment | flag | default |
|---|---|---|---|
${settingNames().map(row).join('\n')}

## Reloading

A running server reads its settings again when it receives SIGHUP (\`systemctl reload gatehouse\`). These take effect at once:
${settingNames()
  .filter((name) => SETTINGS[name].reload === true)
  .map((name) => `[\`${fileName(name)}\`](#${fileName(name)})`)
  .join(', ')}.
The certificate and the key are read again, also if the names of their files are the same. The log names every other setting
that has changed and needs a restart. With [several workers](scaling.md#several-workers-on-one-machine) nearly all settings are
taken over, by new workers. The demonstration does not reload: SIGHUP ends it, as closing its terminal does.

## Descriptions

${settingNames().map(meaning).join('\n\n')}
`,
}

function row(name: SettingName): string {
  return `| [\`${fileName(name)}\`](#${fileName(name)}) | \`${environmentName(name)}\` | \`${flagName(name)}\` | ${shown(SETTINGS[name].default)} |`
}

function meaning(name: SettingName): string {
  const { help, parse, secret, reload } = SETTINGS[name]
  const choices = choicesOf(parse).map((choice) => `\`${choice}\``)
  const notes = [
    ...(choices.length === 0 ? [] : [` Values: ${choices.join(', ')}.`]),
    ...(secret === true ? [' Secret: never shown.'] : []),
    ...(reload === true ? [' Reloaded on SIGHUP.'] : []),
  ]
  return `### ${fileName(name)}\n\n${help}${notes.join('')} As \`${environmentName(name)}\` or \`${flagName(name)}\`.`
}

function shown(fallback: string): string {
  return fallback === '' ? 'empty' : `\`${fallback}\``
}
