/** Lists of addresses, checked while they are typed with the rules of the server. */
import { originFault, redirectUriFault } from 'gatehouse-protocol'
import { Button, IconButton, TextField } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { type Draft, filled, type Kind, type KindInfo } from './kinds.ts'

export type Addresses = Pick<Draft, 'redirectUris' | 'signedOutUris' | 'origins'>

const RULES = { redirect: redirectUriFault, origin: originFault }

/** What is wrong with an address in a list; undefined for nothing. */
function addressFault(rule: keyof typeof RULES, values: readonly string[], index: number): string | undefined {
  const text = values[index]?.trim() ?? ''
  if (text === '') return undefined
  const fault = RULES[rule](text)
  if (fault !== undefined) return fault.replace(/^(?!https?\b)[a-z]/, (letter) => letter.toUpperCase())
  return values.findIndex((other) => other.trim() === text) < index ? 'This is already listed' : undefined
}

/** Whether all that the kind of application needs is there, and nothing is wrong. */
export function areComplete({ redirects }: KindInfo, { redirectUris, signedOutUris, origins }: Addresses): boolean {
  return (
    (!redirects || filled(redirectUris).length > 0) &&
    areFine('redirect', redirectUris) &&
    areFine('redirect', signedOutUris) &&
    areFine('origin', origins)
  )
}

function areFine(rule: keyof typeof RULES, values: readonly string[]): boolean {
  return values.every((_, index) => addressFault(rule, values, index) === undefined)
}

/** The lists that an application of this kind has. */
export function AddressFields({
  info,
  addresses,
  onChange,
}: {
  readonly info: KindInfo
  readonly addresses: Addresses
  readonly onChange: (part: Partial<Addresses>) => void
}) {
  return (
    <>
      <AddressList
        legend="Redirect URIs"
        texts={REDIRECT_URI}
        about={`${info.redirectHint} It must match exactly; http is allowed only on this computer.`}
        rule="redirect"
        placeholder={PLACEHOLDERS[info.kind]}
        values={addresses.redirectUris}
        onValues={(redirectUris) => onChange({ redirectUris })}
      />
      <AddressList
        legend="After sign-out"
        texts={ADDRESS}
        about="Where people can be sent after they sign out. Optional."
        rule="redirect"
        values={addresses.signedOutUris}
        onValues={(signedOutUris) => onChange({ signedOutUris })}
      />
      {info.origins && (
        <AddressList
          legend="Other origins"
          texts={ORIGIN}
          about="Pages at the origins of the redirect URIs may call this server. List others here: scheme, host and port, without a path."
          rule="origin"
          placeholder="https://other.example.com"
          values={addresses.origins}
          onValues={(origins) => onChange({ origins })}
        />
      )}
    </>
  )
}

const PLACEHOLDERS: Readonly<Record<Kind, string>> = {
  spa: 'https://app.example.com/',
  server: 'https://app.example.com/callback',
  native: 'http://127.0.0.1/callback',
  device: '',
  service: '',
  agent: 'https://assistant.example.com/callback',
}

/** What one item of a list is called. */
interface ItemTexts {
  readonly fieldName: (number: number) => string
  readonly removeLabel: (number: number) => string
  readonly another: string
}

const REDIRECT_URI: ItemTexts = {
  fieldName: (number) => word(`redirect URI ${number}`),
  removeLabel: (number) => `Remove redirect URI ${number}`,
  another: 'Another redirect URI',
}
const ADDRESS: ItemTexts = {
  fieldName: (number) => word(`address ${number}`),
  removeLabel: (number) => `Remove address ${number}`,
  another: 'Another address',
}
const ORIGIN: ItemTexts = {
  fieldName: (number) => word(`origin ${number}`),
  removeLabel: (number) => `Remove origin ${number}`,
  another: 'Another origin',
}

function AddressList({
  legend,
  about,
  rule,
  texts,
  values,
  onValues,
  placeholder,
}: {
  readonly legend: string
  readonly about: string
  readonly rule: keyof typeof RULES
  readonly texts: ItemTexts
  readonly values: readonly string[]
  readonly onValues: (values: readonly string[]) => void
  readonly placeholder?: string
}) {
  const shown = values.length === 0 ? [''] : values
  const set = (index: number, value: string) => onValues(shown.map((was, place) => (place === index ? value : was)))
  return (
    <fieldset class="choices addresses">
      <legend>{legend}</legend>
      <p class="hint">{about}</p>
      {shown.map((value, index) => (
        <div key={index} class="address">
          <TextField
            label={texts.fieldName(index + 1)}
            hideLabel
            inputMode="url"
            {...(placeholder !== undefined && { placeholder })}
            value={value}
            onValue={(text) => set(index, text)}
            error={addressFault(rule, shown, index)}
          />
          {shown.length > 1 && (
            <IconButton
              icon="minus"
              label={texts.removeLabel(index + 1)}
              onClick={() => onValues(shown.filter((_, place) => place !== index))}
            />
          )}
        </div>
      ))}
      <div>
        <Button size="small" kind="plain" icon="plus" onClick={() => onValues([...shown, ''])}>
          {texts.another}
        </Button>
      </div>
    </fieldset>
  )
}
