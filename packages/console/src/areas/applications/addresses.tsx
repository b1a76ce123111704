/** Lists of addresses, checked while they are typed with the rules of the server. */
import { originFault, redirectUriFault } from 'gatehouse-protocol'
import { Button, IconButton, TextField } from '../../ui/index.ts'

const RULES = { redirect: redirectUriFault, origin: originFault }

/** What is wrong with an address in a list; undefined for nothing. */
export function addressFault(rule: keyof typeof RULES, values: readonly string[], index: number): string | undefined {
  const text = values[index]?.trim() ?? ''
  if (text === '') return undefined
  const fault = RULES[rule](text)
  if (fault !== undefined) return fault.replace(/^(?!https?\b)[a-z]/, (letter) => letter.toUpperCase())
  return values.findIndex((other) => other.trim() === text) < index ? 'This is listed already' : undefined
}

/** Whether none of a list is wrong. */
export function areFine(rule: keyof typeof RULES, values: readonly string[]): boolean {
  return values.every((_, index) => addressFault(rule, values, index) === undefined)
}

export function AddressList({
  legend,
  about,
  rule,
  item,
  values,
  onValues,
  placeholder,
}: {
  readonly legend: string
  readonly about: string
  readonly rule: keyof typeof RULES
  /** What one of them is called. */
  readonly item: string
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
            label={`${item} ${index + 1}`}
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
              label={`Remove ${item} ${index + 1}`}
              onClick={() => onValues(shown.filter((_, place) => place !== index))}
            />
          )}
        </div>
      ))}
      <div>
        <Button size="small" kind="plain" icon="plus" onClick={() => onValues([...shown, ''])}>
          Another {item}
        </Button>
      </div>
    </fieldset>
  )
}
