/** What is demanded of the sign-in of a caller (step-up): as fields of a form, and in words. */
import { Select, TextField } from './field.tsx'
import { typedWhole } from './number.ts'
import { word } from './word.ts'

/** Empty texts demand nothing. */
export interface SignInDemand {
  readonly acr: string
  readonly age: string
}

export const NO_DEMAND: SignInDemand = { acr: '', age: '' }

type Given = number | null | undefined

export function readDemand(acr: Given, age: Given): SignInDemand {
  return { acr: acr === null ? '' : String(acr ?? ''), age: age === null ? '' : String(age ?? '') }
}

/** A number, or null for nothing. Other text is left to the server, which says what is wrong with it. */
export function demandedNumber(text: string): number | string | null {
  const given = typedWhole(text)
  if (given === '') return null
  return /^\d{1,9}$/.test(given) ? Number(given) : given
}

export function demandText(acr: Given, age: Given): string {
  const { acr: level, age: seconds } = readDemand(acr, age)
  if (level === '' && seconds === '') return word('Any')
  const factors = level === '2' ? 'With two factors' : 'Of a user'
  return seconds === '' ? factors : `${factors}, at most ${seconds} seconds ago`
}

interface Props {
  /** Such as `Sign-in for reading`. */
  readonly label: string
  readonly demand: SignInDemand
  readonly onDemand: (demand: SignInDemand) => void
  readonly acrError?: string | undefined
  readonly ageError?: string | undefined
}

export function SignInDemandFields({ label, demand, onDemand, acrError, ageError }: Props) {
  return (
    <>
      <Select
        label={label}
        hint="Others are asked to sign in again (step-up). Programs without a user are refused."
        error={acrError}
        value={demand.acr}
        onValue={(acr) => onDemand({ ...demand, acr })}
        choices={[
          { value: '', title: 'Any' },
          { value: '1', title: 'Of a user' },
          { value: '2', title: 'With two factors' },
        ]}
      />
      <TextField
        label={`${label}: at most this many seconds ago`}
        hint="Empty: without a limit."
        inputMode="numeric"
        placeholder="300"
        error={ageError}
        value={demand.age}
        onValue={(age) => onDemand({ ...demand, age })}
      />
    </>
  )
}
