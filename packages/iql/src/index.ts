/** IQL, the query language: parse, bind and print statements. The one entry of this package: what it does not export is internal. */
export * from './bind/binder.ts'
export * from './bind/parameters.ts'
export { ROLE_CLAIMS } from './bind/role-claim.ts'
export { POSTGRES_TYPES } from './bind/type.ts'
export { unknownZone, ZONE_WIDTH } from './bind/zone.ts'
export * from './bound/bound.ts'
export type { AttributeClaim, ClaimName, Column, Literal, Parameter, WrittenAt } from './bound/bound-leaf.ts'
export { mapExpression } from './bound/bound-map.ts'
export type {
  Aggregate,
  Arithmetic,
  AsofJoin,
  BoundBody,
  BoundCall,
  BoundExpression,
  BoundFrame,
  BoundFrameBound,
  BoundLatest,
  BoundOrder,
  BoundQuery,
  BoundSelect,
  DerivedSource,
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
export { combineConditions, conjuncts, directOperands, walkQuery } from './bound/bound-walk.ts'
export * from './bound/can-fail.ts'
export * from './bound/catalogue-view.ts'
export { partsOfWrite } from './bound/copied-operands.ts'
export * from './bound/search.ts'
export * from './bound/text-bound.ts'
export * from './bound/text-weight.ts'
export * from './errors/did-you-mean.ts'
export * from './errors/errors.ts'
export * from './errors/refusal.ts'
export { WINDOW_FUNCTIONS } from './functions/aggregate.ts'
export * from './functions/entry.ts'
export {
  type AggregateId,
  FUNCTIONS,
  type FunctionDefinition,
  findVolatility,
  functionNames,
  type ScalarId,
  SPECIAL_FORMS,
  type TableFunctionId,
  type WindowId,
  zoneIndex,
} from './functions/functions.ts'
export { arrayParameters, elementName, expandArrays } from './rewrite/expand-arrays.ts'
export * from './rewrite/like-escape.ts'
export type { BindOptions } from './scope/binding.ts'
export type { Statement } from './syntax/ast.ts'
export {
  AT,
  binary,
  boolean,
  buildInsert,
  buildName,
  columnRef,
  insertQuery,
  isNull,
  number,
  parameterRef,
  text,
} from './syntax/ast-build.ts'
export { childExpressions, someWithin, withChildren } from './syntax/ast-children.ts'
export * from './syntax/ast-nesting.ts'
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
  WindowSpec,
} from './syntax/ast-query.ts'
export { attributesWithin, filterAttributes, namedAttribute } from './syntax/attributes.ts'
export { FOREIGN_SYNTAX } from './syntax/foreign-syntax.ts'
export * from './syntax/keywords.ts'
export { type Token, tokenize } from './syntax/lexer.ts'
export * from './syntax/limits.ts'
export { sameName } from './syntax/names.ts'
export * from './syntax/parser.ts'
export { printExpression, printName, printQuery } from './syntax/print-query.ts'
export * from './syntax/shape.ts'
export * from './types/casts.ts'
export { writeDuration } from './types/durations.ts'
export * from './types/operators.ts'
export * from './types/time-values.ts'
export * from './types/types.ts'
export * from './types/values.ts'
