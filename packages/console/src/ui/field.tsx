/** Form controls, each with its label, a hint and an error that screen readers connect with it. */
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { classes } from './button.tsx'
import { Icon } from './icon.tsx'

export interface FieldProps {
  readonly label: string
  /** What is expected. */
  readonly hint?: ComponentChildren
  /** What is wrong; shown in place of the hint. */
  readonly error?: string | undefined
  /** Read aloud, not shown: where the place says it already. */
  readonly hideLabel?: boolean | undefined
}

interface Ids {
  readonly id: string
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': true | undefined
}

/** Around a control of your own: `children` is given the attributes that connect it. */
export function Field({
  label,
  hint,
  error,
  hideLabel,
  children,
}: FieldProps & { readonly children: (ids: Ids) => ComponentChildren }) {
  const id = useId()
  const about = error ?? hint
  return (
    <div class="field">
      <label for={id} class={hideLabel === true ? 'visually-hidden' : undefined}>
        {label}
      </label>
      {children({
        id,
        'aria-describedby': about === undefined ? undefined : `${id}-about`,
        'aria-invalid': error === undefined ? undefined : true,
      })}
      {about !== undefined && (
        <div id={`${id}-about`} class={error === undefined ? 'hint' : 'fault'}>
          {about}
        </div>
      )}
    </div>
  )
}

/** The attributes of HTML that controls pass on. */
interface Native {
  readonly name?: string
  readonly placeholder?: string
  readonly disabled?: boolean | undefined
  readonly required?: boolean
  readonly readOnly?: boolean
  readonly autofocus?: boolean
  readonly autocomplete?: string
  readonly maxLength?: number
  readonly class?: string
  readonly onKeyDown?: (event: KeyboardEvent) => void
  readonly onFocus?: (event: FocusEvent) => void
  readonly onBlur?: (event: FocusEvent) => void
}

interface NativeInput extends Native {
  readonly type?: 'text' | 'password' | 'email' | 'url' | 'number' | 'date' | 'time' | 'datetime-local' | 'search'
  readonly inputMode?: 'text' | 'numeric' | 'decimal' | 'email' | 'url'
  readonly min?: string | number
  readonly max?: string | number
  readonly step?: string | number
  /** The id of a `datalist`. */
  readonly list?: string
}

interface Valued {
  readonly value: string
  readonly onValue: (value: string) => void
}

/** One line of text. */
export function TextField({
  label,
  hint,
  error,
  hideLabel,
  value,
  onValue,
  type = 'text',
  ...rest
}: FieldProps & Valued & NativeInput) {
  return (
    <Field label={label} hint={hint} error={error} hideLabel={hideLabel}>
      {(ids) => (
        <input
          // The types of the attributes depend on this one.
          type={type as 'text'}
          autocomplete="off"
          spellcheck={false}
          {...rest}
          {...ids}
          value={value}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      )}
    </Field>
  )
}

/** Several lines of text. */
export function TextArea({
  label,
  hint,
  error,
  hideLabel,
  value,
  onValue,
  ...rest
}: FieldProps & Valued & Native & { readonly rows?: number }) {
  return (
    <Field label={label} hint={hint} error={error} hideLabel={hideLabel}>
      {(ids) => (
        <textarea rows={4} {...rest} {...ids} value={value} onInput={(event) => onValue(event.currentTarget.value)} />
      )}
    </Field>
  )
}

export type Choice = string | { readonly value: string; readonly title: string }

/** One of a list. */
export function Select({
  label,
  hint,
  error,
  hideLabel,
  value,
  onValue,
  choices,
  ...rest
}: FieldProps &
  Valued & { readonly choices: readonly Choice[] } & Pick<
    Native,
    'name' | 'disabled' | 'required' | 'autofocus' | 'class'
  >) {
  return (
    <Field label={label} hint={hint} error={error} hideLabel={hideLabel}>
      {(ids) => (
        <span class="select">
          <select {...rest} {...ids} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
            {choices.map((choice) => {
              const { value: own, title } = typeof choice === 'string' ? { value: choice, title: choice } : choice
              return (
                <option key={own} value={own} selected={own === value}>
                  {title}
                </option>
              )
            })}
          </select>
          <Icon name="down" />
        </span>
      )}
    </Field>
  )
}

interface Checked {
  readonly checked: boolean
  readonly onChecked: (checked: boolean) => void
  readonly disabled?: boolean | undefined
}

export function Checkbox({
  label,
  hint,
  checked,
  onChecked,
  disabled,
}: Pick<FieldProps, 'hint'> & Checked & { readonly label: ComponentChildren }) {
  const id = useId()
  return (
    <div class="check">
      <input
        type="checkbox"
        id={id}
        checked={checked}
        disabled={disabled}
        aria-describedby={hint === undefined ? undefined : `${id}-about`}
        onChange={(event) => onChecked(event.currentTarget.checked)}
      />
      <label for={id}>{label}</label>
      {hint !== undefined && (
        <div id={`${id}-about`} class="hint">
          {hint}
        </div>
      )}
    </div>
  )
}

/** A checkbox for each item; `chosen` has the names in the order in which they were chosen. */
export function Checkboxes({
  items,
  chosen,
  onChosen,
}: {
  readonly items: readonly {
    readonly name: string
    readonly label?: ComponentChildren
    readonly hint?: string | undefined
    readonly disabled?: boolean
  }[]
  readonly chosen: readonly string[]
  readonly onChosen: (chosen: readonly string[]) => void
}) {
  return (
    <>
      {items.map(({ name, label = name, ...rest }) => (
        <Checkbox
          key={name}
          {...rest}
          label={label}
          checked={chosen.includes(name)}
          onChecked={(isOn) => onChosen(isOn ? [...chosen, name] : chosen.filter((other) => other !== name))}
        />
      ))}
    </>
  )
}

/** Takes effect at once, as a light switch does. */
export function Switch({ label, checked, onChecked, disabled }: Checked & { readonly label: string }) {
  return (
    <button
      type="button"
      role="switch"
      class="switch"
      aria-checked={checked}
      disabled={disabled}
      onClick={() => onChecked(!checked)}
    >
      <span class="switch-track" aria-hidden="true" />
      {label}
    </button>
  )
}

/** One of a few, all visible. */
export function Segments<Value extends string>({
  label,
  value,
  onValue,
  choices,
}: {
  readonly label: string
  readonly value: Value
  readonly onValue: (value: Value) => void
  readonly choices: readonly { readonly value: Value; readonly title: ComponentChildren; readonly label?: string }[]
}) {
  const name = useId()
  return (
    <fieldset class="segments">
      <legend class="visually-hidden">{label}</legend>
      {choices.map((choice) => (
        <label key={choice.value} class={classes('segment', choice.value === value && 'chosen')} title={choice.label}>
          <input
            type="radio"
            class="visually-hidden"
            name={name}
            checked={choice.value === value}
            aria-label={choice.label}
            onChange={() => onValue(choice.value)}
          />
          {choice.title}
        </label>
      ))}
    </fieldset>
  )
}

/** A search that keeps its focus while results change. Escape empties it. */
export function SearchField({
  label,
  value,
  onValue,
  ...rest
}: { readonly label: string } & Valued & Omit<NativeInput, 'type' | 'onKeyDown'>) {
  return (
    <span class="search">
      <Icon name="search" />
      <input
        type="search"
        autocomplete="off"
        spellcheck={false}
        placeholder={label}
        {...rest}
        aria-label={label}
        value={value}
        onInput={(event) => onValue(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Escape' || value === '') return
          event.stopPropagation()
          event.preventDefault()
          onValue('')
        }}
      />
    </span>
  )
}
