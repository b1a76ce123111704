/** The parts of a helper function of PostgreSQL. */
import { SCHEMA } from '../representation.ts'

/** The SQLSTATE of IQL errors; the message is the error's name. */
export const IQL_ERROR_STATE = 'GH001'

export interface HelperFunction {
  readonly signature: string
  readonly returns: string
  readonly body: string
  /** Called with NULLs too. */
  readonly takesNull?: true
  /** Not evaluated by the planner. */
  readonly isVolatile?: true
  /** COST, in units of one operator call: the planner evaluates cheaper conditions first. */
  readonly cost?: number
  /** plpgsql for functions that raise errors or need control flow; otherwise SQL, which the planner can inline. */
  readonly language?: 'plpgsql'
}

export function functionSql({
  signature,
  returns,
  body,
  language,
  takesNull,
  cost,
  isVolatile,
}: HelperFunction): string {
  const code = language === undefined ? `SELECT ${body}` : `BEGIN ${body} END`
  return `CREATE OR REPLACE FUNCTION ${SCHEMA}.${signature} RETURNS ${returns} LANGUAGE ${language ?? 'sql'} ${isVolatile === true ? 'VOLATILE' : 'IMMUTABLE'} ${takesNull === true ? '' : 'STRICT '}PARALLEL SAFE${cost === undefined ? '' : ` COST ${cost}`} AS $gh$ ${code} $gh$`
}

export function fail(code: string, detail: string): string {
  return `RAISE EXCEPTION USING ERRCODE = '${IQL_ERROR_STATE}', MESSAGE = '${code}', DETAIL = ${detail}`
}

/** `name(x text) RETURNS text AS body`: the body is an expression. */
export function sql(texts: TemplateStringsArray, ...values: readonly (string | number)[]): HelperFunction {
  const text = String.raw({ raw: texts }, ...values)
  const [, signature = '', returns = '', body = ''] = /^(.*?) RETURNS ((?:SETOF )?\w+) AS\s(.*)$/s.exec(text) ?? []
  return { signature, returns, body }
}

/** A helper function whose body is PL/pgSQL. */
export function plpgsql(texts: TemplateStringsArray, ...values: readonly (string | number)[]): HelperFunction {
  return { ...sql(texts, ...values), language: 'plpgsql' }
}
