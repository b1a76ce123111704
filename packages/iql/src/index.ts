/** IQL, the query language: parse, bind and print statements. The one entry of this package. */
export { bind } from './bind/binder.ts'
export { ROLE_CLAIMS } from './bind/operators.ts'
export { type ParameterInput, readParameters } from './bind/parameters.ts'
export {
  type AddColumn,
  type Assignment,
  type Bound,
  type BoundColumn,
  type BoundStatement,
  type CreateTable,
  type CreateView,
  type DefaultValue,
  type Delete,
  type DescribeTable,
  type Explain,
  type ExplainLive,
  type Insert,
  type ParameterSlot,
  reads,
  type SetRights,
  type ShowColumns,
  type ShowTables,
  type Update,
} from './bound/bound.ts'
export type { BoundFrame, BoundFrameEdge } from './bound/bound-frame.ts'
export type { ClaimName, Column, Literal, Parameter, WrittenAt } from './bound/bound-leaf.ts'
export type {
  Aggregate,
  Arithmetic,
  AsofJoin,
  BoundBody,
  BoundCall,
  BoundExpression,
  BoundLatest,
  BoundOrder,
  BoundQuery,
  BoundSelect,
  GroupKey,
  InList,
  InQuery,
  Like,
  NullIf,
  OutputItem,
  ResultColumn,
  SetOperation,
  Source,
  TableSource,
  WindowCall,
} from './bound/bound-query.ts'
export { operandsOf, partsOf } from './bound/bound-walk.ts'
export { cannotFail, isConstant, isTotal, safestFirst } from './bound/can-fail.ts'
export {
  type CatalogueView,
  type ColumnView,
  definitionIn,
  NO_TABLES,
  needsScopes,
  type TableView,
  type ViewQuery,
} from './bound/catalogue-view.ts'
export { partsOfWrite } from './bound/copied-operands.ts'
export { longPartOf, MAX_SEARCH_STEPS, SHORT_PART_BYTES } from './bound/search.ts'
export { concatOperands, type GrowingId, isGrowing, isSmallText, SMALL_TEXT_BYTES } from './bound/text-bound.ts'
export { type IndexesOf, isCreating, isPlain, type TextWeight, type Weighed, weigh } from './bound/text-weight.ts'
export { didYouMean } from './errors/did-you-mean.ts'
export { caretPicture, ERRORS, type ErrorName, type Position, positionOf, refuse } from './errors/errors.ts'
export { WINDOW_FUNCTIONS } from './functions/aggregate.ts'
export { ARGUMENT_WORDS, type ArgumentKind, PARTS, SPANS, signatureOf, UNITS } from './functions/entry.ts'
export {
  type AggregateId,
  FUNCTIONS,
  type FunctionDefinition,
  functionNames,
  type ScalarId,
  SPECIAL_FORMS,
  type TableFunctionId,
  type WindowId,
} from './functions/functions.ts'
export { SCALAR_FUNCTIONS } from './functions/scalar.ts'
export type { Statement } from './syntax/ast.ts'
export { AT, binary, boolean, columnRef, insertOf, isNull, nameOf, parameterRef } from './syntax/ast-build.ts'
export { childrenOf } from './syntax/ast-children.ts'
export { nestingOf } from './syntax/ast-nesting.ts'
export type {
  BinaryOperator,
  Body,
  Call,
  Cte,
  Expression,
  Frame,
  FrameBound,
  From,
  JoinKind,
  Latest,
  LiteralTypeName,
  OrderItem,
  Query,
  Select,
  SelectItem,
  Window,
} from './syntax/ast-query.ts'
export { DEFINING, KEYWORDS, RESERVED, RESERVED_FUNCTIONS } from './syntax/keywords.ts'
export { type Token, tokenize } from './syntax/lexer.ts'
export {
  DEFAULT_LIMITS,
  type Limits,
  MAX_COPIED_EXPRESSIONS,
  MAX_CREATED_BYTES,
  MAX_GROUP_BYTES,
  MAX_HELD_BYTES,
  MAX_HELD_TEXTS,
  MAX_HELD_VALUES,
  MAX_KEY_BYTES,
  MAX_LIST_BYTES,
  MAX_RESULT_ROW_BYTES,
  MAX_SERIES_ROWS,
  MAX_SERIES_ROWS_TEXT,
  MAX_WITH_USES,
} from './syntax/limits.ts'
export { sameName } from './syntax/names.ts'
export { parse, parseExpressionText } from './syntax/parser.ts'
export { printExpression, printName } from './syntax/print-query.ts'
export { print } from './syntax/printer.ts'
export { literalsOf, type Shape, shapeOf } from './syntax/shape.ts'
export { CAST_RULES, CASTS } from './types/casts.ts'
export {
  FRACTION_SCALE,
  OPERATORS,
  type OperatorId,
  QUOTIENT_SCALE,
  ROOT_DIGITS,
  SPREAD_DIGITS,
} from './types/operators.ts'
export {
  floorDivide,
  MAX_DATE,
  MAX_TIMESTAMP,
  MICROS_PER_DAY,
  MIN_DATE,
  MIN_TIMESTAMP,
  readDate,
  readTime,
  readTimestamp,
  writeDate,
  writeTime,
  writeTimestamp,
} from './types/time-values.ts'
export {
  asDecimal,
  BINARY,
  BOOLEAN,
  COLUMN_TYPES,
  DATE,
  DECIMAL_DIGITS,
  type DecimalType,
  DOUBLE,
  decimal,
  FIXED_INTERVAL,
  FORMS,
  INTEGER,
  INTERVAL,
  type IqlType,
  type IqlValue,
  isExtraWide,
  isLongType,
  isStorable,
  isWide,
  JSON_TYPE,
  MAX_INTEGER,
  MIN_INTEGER,
  SHORT_DIGITS,
  sameType,
  TEXT,
  TIME,
  TIMESTAMP,
  type TypeKind,
  typeName,
  UUID,
} from './types/types.ts'
export { doubleText, type Read, readDigits, readValue, writeDecimal, writeValue } from './types/values.ts'
