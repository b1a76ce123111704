/** The tables, types and functions of a PostgreSQL 15. Written by scripts/wire/catalogue-columns.ts. */

/** A line for each table: its name, its OID, its kind, and name, type and modifier of each column; ! is NOT NULL. */
export const RELATION_LINES = `
pg_catalog.pg_aggregate 2600 r aggfnoid:24! aggkind:18! aggnumdirectargs:21! aggtransfn:24! aggfinalfn:24! aggcombinefn:24! aggserialfn:24! aggdeserialfn:24! aggmtransfn:24! aggminvtransfn:24! aggmfinalfn:24! aggfinalextra:16! aggmfinalextra:16! aggfinalmodify:18! aggmfinalmodify:18! aggsortop:26! aggtranstype:26! aggtransspace:23! aggmtranstype:26! aggmtransspace:23! agginitval:25 aggminitval:25
pg_catalog.pg_am 2601 r oid:26! amname:19! amhandler:24! amtype:18!
pg_catalog.pg_amop 2602 r oid:26! amopfamily:26! amoplefttype:26! amoprighttype:26! amopstrategy:21! amoppurpose:18! amopopr:26! amopmethod:26! amopsortfamily:26!
pg_catalog.pg_amproc 2603 r oid:26! amprocfamily:26! amproclefttype:26! amprocrighttype:26! amprocnum:21! amproc:24!
pg_catalog.pg_attrdef 2604 r oid:26! adrelid:26! adnum:21! adbin:194!
pg_catalog.pg_attribute 1249 r attrelid:26! attname:19! atttypid:26! attstattarget:23! attlen:21! attnum:21! attndims:23! attcacheoff:23! atttypmod:23! attbyval:16! attalign:18! attstorage:18! attcompression:18! attnotnull:16! atthasdef:16! atthasmissing:16! attidentity:18! attgenerated:18! attisdropped:16! attislocal:16! attinhcount:23! attcollation:26! attacl:1034 attoptions:1009 attfdwoptions:1009 attmissingval:2277
pg_catalog.pg_auth_members 1261 r roleid:26! member:26! grantor:26! admin_option:16!
pg_catalog.pg_authid 1260 r oid:26! rolname:19! rolsuper:16! rolinherit:16! rolcreaterole:16! rolcreatedb:16! rolcanlogin:16! rolreplication:16! rolbypassrls:16! rolconnlimit:23! rolpassword:25 rolvaliduntil:1184
pg_catalog.pg_available_extension_versions 12085 v name:19 version:25 installed:16 superuser:16 trusted:16 relocatable:16 schema:19 requires:1003 comment:25
pg_catalog.pg_available_extensions 12081 v name:19 default_version:25 installed_version:25 comment:25
pg_catalog.pg_backend_memory_contexts 12138 v name:25 ident:25 parent:25 level:23 total_bytes:20 total_nblocks:20 free_bytes:20 free_chunks:20 used_bytes:20
pg_catalog.pg_cast 2605 r oid:26! castsource:26! casttarget:26! castfunc:26! castcontext:18! castmethod:18!
pg_catalog.pg_class 1259 r oid:26! relname:19! relnamespace:26! reltype:26! reloftype:26! relowner:26! relam:26! relfilenode:26! reltablespace:26! relpages:23! reltuples:700! relallvisible:23! reltoastrelid:26! relhasindex:16! relisshared:16! relpersistence:18! relkind:18! relnatts:21! relchecks:21! relhasrules:16! relhastriggers:16! relhassubclass:16! relrowsecurity:16! relforcerowsecurity:16! relispopulated:16! relreplident:18! relispartition:16! relrewrite:26! relfrozenxid:28! relminmxid:28! relacl:1034 reloptions:1009 relpartbound:194
pg_catalog.pg_collation 3456 r oid:26! collname:19! collnamespace:26! collowner:26! collprovider:18! collisdeterministic:16! collencoding:23! collcollate:25 collctype:25 colliculocale:25 collversion:25
pg_catalog.pg_config 12130 v name:25 setting:25
pg_catalog.pg_constraint 2606 r oid:26! conname:19! connamespace:26! contype:18! condeferrable:16! condeferred:16! convalidated:16! conrelid:26! contypid:26! conindid:26! conparentid:26! confrelid:26! confupdtype:18! confdeltype:18! confmatchtype:18! conislocal:16! coninhcount:23! connoinherit:16! conkey:1005 confkey:1005 conpfeqop:1028 conppeqop:1028 conffeqop:1028 confdelsetcols:1005 conexclop:1028 conbin:194
pg_catalog.pg_conversion 2607 r oid:26! conname:19! connamespace:26! conowner:26! conforencoding:23! contoencoding:23! conproc:24! condefault:16!
pg_catalog.pg_cursors 12077 v name:25 statement:25 is_holdable:16 is_binary:16 is_scrollable:16 creation_time:1184
pg_catalog.pg_database 1262 r oid:26! datname:19! datdba:26! encoding:23! datlocprovider:18! datistemplate:16! datallowconn:16! datconnlimit:23! datfrozenxid:28! datminmxid:28! dattablespace:26! datcollate:25! datctype:25! daticulocale:25 datcollversion:25 datacl:1034
pg_catalog.pg_db_role_setting 2964 r setdatabase:26! setrole:26! setconfig:1009
pg_catalog.pg_default_acl 826 r oid:26! defaclrole:26! defaclnamespace:26! defaclobjtype:18! defaclacl:1034!
pg_catalog.pg_depend 2608 r classid:26! objid:26! objsubid:23! refclassid:26! refobjid:26! refobjsubid:23! deptype:18!
pg_catalog.pg_description 2609 r objoid:26! classoid:26! objsubid:23! description:25!
pg_catalog.pg_enum 3501 r oid:26! enumtypid:26! enumsortorder:700! enumlabel:19!
pg_catalog.pg_event_trigger 3466 r oid:26! evtname:19! evtevent:19! evtowner:26! evtfoid:26! evtenabled:18! evttags:1009
pg_catalog.pg_extension 3079 r oid:26! extname:19! extowner:26! extnamespace:26! extrelocatable:16! extversion:25! extconfig:1028 extcondition:1009
pg_catalog.pg_file_settings 12110 v sourcefile:25 sourceline:23 seqno:23 name:25 setting:25 applied:16 error:25
pg_catalog.pg_foreign_data_wrapper 2328 r oid:26! fdwname:19! fdwowner:26! fdwhandler:26! fdwvalidator:26! fdwacl:1034 fdwoptions:1009
pg_catalog.pg_foreign_server 1417 r oid:26! srvname:19! srvowner:26! srvfdw:26! srvtype:25 srvversion:25 srvacl:1034 srvoptions:1009
pg_catalog.pg_foreign_table 3118 r ftrelid:26! ftserver:26! ftoptions:1009
pg_catalog.pg_group 12010 v groname:19 grosysid:26 grolist:1028
pg_catalog.pg_hba_file_rules 12114 v line_number:23 type:25 database:1009 user_name:1009 address:25 netmask:25 auth_method:25 options:1009 error:25
pg_catalog.pg_ident_file_mappings 12118 v line_number:23 map_name:25 sys_name:25 pg_username:25 error:25
pg_catalog.pg_index 2610 r indexrelid:26! indrelid:26! indnatts:21! indnkeyatts:21! indisunique:16! indnullsnotdistinct:16! indisprimary:16! indisexclusion:16! indimmediate:16! indisclustered:16! indisvalid:16! indcheckxmin:16! indisready:16! indislive:16! indisreplident:16! indkey:22! indcollation:30! indclass:30! indoption:22! indexprs:194 indpred:194
pg_catalog.pg_indexes 12043 v schemaname:19 tablename:19 indexname:19 tablespace:19 indexdef:25
pg_catalog.pg_inherits 2611 r inhrelid:26! inhparent:26! inhseqno:23! inhdetachpending:16!
pg_catalog.pg_init_privs 3394 r objoid:26! classoid:26! objsubid:23! privtype:18! initprivs:1034!
pg_catalog.pg_language 2612 r oid:26! lanname:19! lanowner:26! lanispl:16! lanpltrusted:16! lanplcallfoid:26! laninline:26! lanvalidator:26! lanacl:1034
pg_catalog.pg_largeobject 2613 r loid:26! pageno:23! data:17!
pg_catalog.pg_largeobject_metadata 2995 r oid:26! lomowner:26! lomacl:1034
pg_catalog.pg_locks 12073 v locktype:25 database:26 relation:26 page:23 tuple:21 virtualxid:25 transactionid:28 classid:26 objid:26 objsubid:21 virtualtransaction:25 pid:23 mode:25 granted:16 fastpath:16 waitstart:1184
pg_catalog.pg_matviews 12038 v schemaname:19 matviewname:19 matviewowner:19 tablespace:19 hasindexes:16 ispopulated:16 definition:25
pg_catalog.pg_namespace 2615 r oid:26! nspname:19! nspowner:26! nspacl:1034
pg_catalog.pg_opclass 2616 r oid:26! opcmethod:26! opcname:19! opcnamespace:26! opcowner:26! opcfamily:26! opcintype:26! opcdefault:16! opckeytype:26!
pg_catalog.pg_operator 2617 r oid:26! oprname:19! oprnamespace:26! oprowner:26! oprkind:18! oprcanmerge:16! oprcanhash:16! oprleft:26! oprright:26! oprresult:26! oprcom:26! oprnegate:26! oprcode:24! oprrest:24! oprjoin:24!
pg_catalog.pg_opfamily 2753 r oid:26! opfmethod:26! opfname:19! opfnamespace:26! opfowner:26!
pg_catalog.pg_parameter_acl 6243 r oid:26! parname:25! paracl:1034
pg_catalog.pg_partitioned_table 3350 r partrelid:26! partstrat:18! partnatts:21! partdefid:26! partattrs:22! partclass:30! partcollation:30! partexprs:194
pg_catalog.pg_policies 12018 v schemaname:19 tablename:19 policyname:19 permissive:25 roles:1003 cmd:25 qual:25 with_check:25
pg_catalog.pg_policy 3256 r oid:26! polname:19! polrelid:26! polcmd:18! polpermissive:16! polroles:1028! polqual:194 polwithcheck:194
pg_catalog.pg_prepared_statements 12095 v name:25 statement:25 prepare_time:1184 parameter_types:2211 from_sql:16 generic_plans:20 custom_plans:20
pg_catalog.pg_prepared_xacts 12090 v transaction:28 gid:25 prepared:1184 owner:19 database:19
pg_catalog.pg_proc 1255 r oid:26! proname:19! pronamespace:26! proowner:26! prolang:26! procost:700! prorows:700! provariadic:26! prosupport:24! prokind:18! prosecdef:16! proleakproof:16! proisstrict:16! proretset:16! provolatile:18! proparallel:18! pronargs:21! pronargdefaults:21! prorettype:26! proargtypes:30! proallargtypes:1028 proargmodes:1002 proargnames:1009 proargdefaults:194 protrftypes:1028 prosrc:25! probin:25 prosqlbody:194 proconfig:1009 proacl:1034
pg_catalog.pg_publication 6104 r oid:26! pubname:19! pubowner:26! puballtables:16! pubinsert:16! pubupdate:16! pubdelete:16! pubtruncate:16! pubviaroot:16!
pg_catalog.pg_publication_namespace 6237 r oid:26! pnpubid:26! pnnspid:26!
pg_catalog.pg_publication_rel 6106 r oid:26! prpubid:26! prrelid:26! prqual:194 prattrs:22
pg_catalog.pg_publication_tables 12068 v pubname:19 schemaname:19 tablename:19 attnames:1003 rowfilter:25
pg_catalog.pg_range 3541 r rngtypid:26! rngsubtype:26! rngmultitypid:26! rngcollation:26! rngsubopc:26! rngcanonical:24! rngsubdiff:24!
pg_catalog.pg_replication_origin 6000 r roident:26! roname:25!
pg_catalog.pg_replication_origin_status 12332 v local_id:26 external_id:25 remote_lsn:3220 local_lsn:3220
pg_catalog.pg_replication_slots 12257 v slot_name:19 plugin:19 slot_type:25 datoid:26 database:19 temporary:16 active:16 active_pid:23 xmin:28 catalog_xmin:28 restart_lsn:3220 confirmed_flush_lsn:3220 wal_status:25 safe_wal_size:20 two_phase:16
pg_catalog.pg_rewrite 2618 r oid:26! rulename:19! ev_class:26! ev_type:18! ev_enabled:18! is_instead:16! ev_qual:194! ev_action:194!
pg_catalog.pg_roles 12000 v rolname:19 rolsuper:16 rolinherit:16 rolcreaterole:16 rolcreatedb:16 rolcanlogin:16 rolreplication:16 rolconnlimit:23 rolpassword:25 rolvaliduntil:1184 rolbypassrls:16 rolconfig:1009 oid:26
pg_catalog.pg_rules 12023 v schemaname:19 tablename:19 rulename:19 definition:25
pg_catalog.pg_seclabel 3596 r objoid:26! classoid:26! objsubid:23! provider:25! label:25!
pg_catalog.pg_seclabels 12099 v objoid:26 classoid:26 objsubid:23 objtype:25 objnamespace:26 objname:25 provider:25 label:25
pg_catalog.pg_sequence 2224 r seqrelid:26! seqtypid:26! seqstart:20! seqincrement:20! seqmax:20! seqmin:20! seqcache:20! seqcycle:16!
pg_catalog.pg_sequences 12048 v schemaname:19 sequencename:19 sequenceowner:19 data_type:2206 start_value:20 min_value:20 max_value:20 increment_by:20 cycle:16 cache_size:20 last_value:20
pg_catalog.pg_settings 12104 v name:25 setting:25 unit:25 category:25 short_desc:25 extra_desc:25 context:25 vartype:25 source:25 min_val:25 max_val:25 enumvals:1009 boot_val:25 reset_val:25 sourcefile:25 sourceline:23 pending_restart:16
pg_catalog.pg_shadow 12005 v usename:19 usesysid:26 usecreatedb:16 usesuper:16 userepl:16 usebypassrls:16 passwd:25 valuntil:1184 useconfig:1009
pg_catalog.pg_shdepend 1214 r dbid:26! classid:26! objid:26! objsubid:23! refclassid:26! refobjid:26! deptype:18!
pg_catalog.pg_shdescription 2396 r objoid:26! classoid:26! description:25!
pg_catalog.pg_shmem_allocations 12134 v name:25 off:20 size:20 allocated_size:20
pg_catalog.pg_shseclabel 3592 r objoid:26! classoid:26! provider:25! label:25!
pg_catalog.pg_stat_activity 12222 v datid:26 datname:19 pid:23 leader_pid:23 usesysid:26 usename:19 application_name:25 client_addr:869 client_hostname:25 client_port:23 backend_start:1184 xact_start:1184 query_start:1184 state_change:1184 wait_event_type:25 wait_event:25 state:25 backend_xid:28 backend_xmin:28 query_id:20 query:25 backend_type:25
pg_catalog.pg_stat_all_indexes 12183 v relid:26 indexrelid:26 schemaname:19 relname:19 indexrelname:19 idx_scan:20 idx_tup_read:20 idx_tup_fetch:20
pg_catalog.pg_stat_all_tables 12142 v relid:26 schemaname:19 relname:19 seq_scan:20 seq_tup_read:20 idx_scan:20 idx_tup_fetch:20 n_tup_ins:20 n_tup_upd:20 n_tup_del:20 n_tup_hot_upd:20 n_live_tup:20 n_dead_tup:20 n_mod_since_analyze:20 n_ins_since_vacuum:20 last_vacuum:1184 last_autovacuum:1184 last_analyze:1184 last_autoanalyze:1184 vacuum_count:20 autovacuum_count:20 analyze_count:20 autoanalyze_count:20
pg_catalog.pg_stat_archiver 12285 v archived_count:20 last_archived_wal:25 last_archived_time:1184 failed_count:20 last_failed_wal:25 last_failed_time:1184 stats_reset:1184
pg_catalog.pg_stat_bgwriter 12289 v checkpoints_timed:20 checkpoints_req:20 checkpoint_write_time:701 checkpoint_sync_time:701 buffers_checkpoint:20 buffers_clean:20 maxwritten_clean:20 buffers_backend:20 buffers_backend_fsync:20 buffers_alloc:20 stats_reset:1184
pg_catalog.pg_stat_database 12266 v datid:26 datname:19 numbackends:23 xact_commit:20 xact_rollback:20 blks_read:20 blks_hit:20 tup_returned:20 tup_fetched:20 tup_inserted:20 tup_updated:20 tup_deleted:20 conflicts:20 temp_files:20 temp_bytes:20 deadlocks:20 checksum_failures:20 checksum_last_failure:1184 blk_read_time:701 blk_write_time:701 session_time:701 active_time:701 idle_in_transaction_time:701 sessions:20 sessions_abandoned:20 sessions_fatal:20 sessions_killed:20 stats_reset:1184
pg_catalog.pg_stat_database_conflicts 12271 v datid:26 datname:19 confl_tablespace:20 confl_lock:20 confl_snapshot:20 confl_bufferpin:20 confl_deadlock:20
pg_catalog.pg_stat_gssapi 12253 v pid:23 gss_authenticated:16 principal:25 encrypted:16
pg_catalog.pg_stat_progress_analyze 12297 v pid:23 datid:26 datname:19 relid:26 phase:25 sample_blks_total:20 sample_blks_scanned:20 ext_stats_total:20 ext_stats_computed:20 child_tables_total:20 child_tables_done:20 current_child_table_relid:26
pg_catalog.pg_stat_progress_basebackup 12317 v pid:23 phase:25 backup_total:20 backup_streamed:20 tablespaces_total:20 tablespaces_streamed:20
pg_catalog.pg_stat_progress_cluster 12307 v pid:23 datid:26 datname:19 relid:26 command:25 phase:25 cluster_index_relid:26 heap_tuples_scanned:20 heap_tuples_written:20 heap_blks_total:20 heap_blks_scanned:20 index_rebuild_count:20
pg_catalog.pg_stat_progress_copy 12322 v pid:23 datid:26 datname:19 relid:26 command:25 type:25 bytes_processed:20 bytes_total:20 tuples_processed:20 tuples_excluded:20
pg_catalog.pg_stat_progress_create_index 12312 v pid:23 datid:26 datname:19 relid:26 index_relid:26 command:25 phase:25 lockers_total:20 lockers_done:20 current_locker_pid:20 blocks_total:20 blocks_done:20 tuples_total:20 tuples_done:20 partitions_total:20 partitions_done:20
pg_catalog.pg_stat_progress_vacuum 12302 v pid:23 datid:26 datname:19 relid:26 phase:25 heap_blks_total:20 heap_blks_scanned:20 heap_blks_vacuumed:20 index_vacuum_count:20 max_dead_tuples:20 num_dead_tuples:20
pg_catalog.pg_stat_recovery_prefetch 12240 v stats_reset:1184 prefetch:20 hit:20 skip_init:20 skip_new:20 skip_fpw:20 skip_rep:20 wal_distance:23 block_distance:23 io_depth:23
pg_catalog.pg_stat_replication 12227 v pid:23 usesysid:26 usename:19 application_name:25 client_addr:869 client_hostname:25 client_port:23 backend_start:1184 backend_xmin:28 state:25 sent_lsn:3220 write_lsn:3220 flush_lsn:3220 replay_lsn:3220 write_lag:1186 flush_lag:1186 replay_lag:1186 sync_priority:23 sync_state:25 reply_time:1184
pg_catalog.pg_stat_replication_slots 12262 v slot_name:25 spill_txns:20 spill_count:20 spill_bytes:20 stream_txns:20 stream_count:20 stream_bytes:20 total_txns:20 total_bytes:20 stats_reset:1184
pg_catalog.pg_stat_slru 12232 v name:25 blks_zeroed:20 blks_hit:20 blks_read:20 blks_written:20 blks_exists:20 flushes:20 truncates:20 stats_reset:1184
pg_catalog.pg_stat_ssl 12249 v pid:23 ssl:16 version:25 cipher:25 bits:23 client_dn:25 client_serial:1700 issuer_dn:25
pg_catalog.pg_stat_subscription 12244 v subid:26 subname:19 pid:23 relid:26 received_lsn:3220 last_msg_send_time:1184 last_msg_receipt_time:1184 latest_end_lsn:3220 latest_end_time:1184
pg_catalog.pg_stat_subscription_stats 12336 v subid:26 subname:19 apply_error_count:20 sync_error_count:20 stats_reset:1184
pg_catalog.pg_stat_sys_indexes 12188 v relid:26 indexrelid:26 schemaname:19 relname:19 indexrelname:19 idx_scan:20 idx_tup_read:20 idx_tup_fetch:20
pg_catalog.pg_stat_sys_tables 12152 v relid:26 schemaname:19 relname:19 seq_scan:20 seq_tup_read:20 idx_scan:20 idx_tup_fetch:20 n_tup_ins:20 n_tup_upd:20 n_tup_del:20 n_tup_hot_upd:20 n_live_tup:20 n_dead_tup:20 n_mod_since_analyze:20 n_ins_since_vacuum:20 last_vacuum:1184 last_autovacuum:1184 last_analyze:1184 last_autoanalyze:1184 vacuum_count:20 autovacuum_count:20 analyze_count:20 autoanalyze_count:20
pg_catalog.pg_stat_user_functions 12275 v funcid:26 schemaname:19 funcname:19 calls:20 total_time:701 self_time:701
pg_catalog.pg_stat_user_indexes 12192 v relid:26 indexrelid:26 schemaname:19 relname:19 indexrelname:19 idx_scan:20 idx_tup_read:20 idx_tup_fetch:20
pg_catalog.pg_stat_user_tables 12161 v relid:26 schemaname:19 relname:19 seq_scan:20 seq_tup_read:20 idx_scan:20 idx_tup_fetch:20 n_tup_ins:20 n_tup_upd:20 n_tup_del:20 n_tup_hot_upd:20 n_live_tup:20 n_dead_tup:20 n_mod_since_analyze:20 n_ins_since_vacuum:20 last_vacuum:1184 last_autovacuum:1184 last_analyze:1184 last_autoanalyze:1184 vacuum_count:20 autovacuum_count:20 analyze_count:20 autoanalyze_count:20
pg_catalog.pg_stat_wal 12293 v wal_records:20 wal_fpi:20 wal_bytes:1700 wal_buffers_full:20 wal_write:20 wal_sync:20 wal_write_time:701 wal_sync_time:701 stats_reset:1184
pg_catalog.pg_stat_wal_receiver 12236 v pid:23 status:25 receive_start_lsn:3220 receive_start_tli:23 written_lsn:3220 flushed_lsn:3220 received_tli:23 last_msg_send_time:1184 last_msg_receipt_time:1184 latest_end_lsn:3220 latest_end_time:1184 slot_name:25 sender_host:25 sender_port:23 conninfo:25
pg_catalog.pg_stat_xact_all_tables 12147 v relid:26 schemaname:19 relname:19 seq_scan:20 seq_tup_read:20 idx_scan:20 idx_tup_fetch:20 n_tup_ins:20 n_tup_upd:20 n_tup_del:20 n_tup_hot_upd:20
pg_catalog.pg_stat_xact_sys_tables 12157 v relid:26 schemaname:19 relname:19 seq_scan:20 seq_tup_read:20 idx_scan:20 idx_tup_fetch:20 n_tup_ins:20 n_tup_upd:20 n_tup_del:20 n_tup_hot_upd:20
pg_catalog.pg_stat_xact_user_functions 12280 v funcid:26 schemaname:19 funcname:19 calls:20 total_time:701 self_time:701
pg_catalog.pg_stat_xact_user_tables 12166 v relid:26 schemaname:19 relname:19 seq_scan:20 seq_tup_read:20 idx_scan:20 idx_tup_fetch:20 n_tup_ins:20 n_tup_upd:20 n_tup_del:20 n_tup_hot_upd:20
pg_catalog.pg_statio_all_indexes 12196 v relid:26 indexrelid:26 schemaname:19 relname:19 indexrelname:19 idx_blks_read:20 idx_blks_hit:20
pg_catalog.pg_statio_all_sequences 12209 v relid:26 schemaname:19 relname:19 blks_read:20 blks_hit:20
pg_catalog.pg_statio_all_tables 12170 v relid:26 schemaname:19 relname:19 heap_blks_read:20 heap_blks_hit:20 idx_blks_read:20 idx_blks_hit:20 toast_blks_read:20 toast_blks_hit:20 tidx_blks_read:20 tidx_blks_hit:20
pg_catalog.pg_statio_sys_indexes 12201 v relid:26 indexrelid:26 schemaname:19 relname:19 indexrelname:19 idx_blks_read:20 idx_blks_hit:20
pg_catalog.pg_statio_sys_sequences 12214 v relid:26 schemaname:19 relname:19 blks_read:20 blks_hit:20
pg_catalog.pg_statio_sys_tables 12175 v relid:26 schemaname:19 relname:19 heap_blks_read:20 heap_blks_hit:20 idx_blks_read:20 idx_blks_hit:20 toast_blks_read:20 toast_blks_hit:20 tidx_blks_read:20 tidx_blks_hit:20
pg_catalog.pg_statio_user_indexes 12205 v relid:26 indexrelid:26 schemaname:19 relname:19 indexrelname:19 idx_blks_read:20 idx_blks_hit:20
pg_catalog.pg_statio_user_sequences 12218 v relid:26 schemaname:19 relname:19 blks_read:20 blks_hit:20
pg_catalog.pg_statio_user_tables 12179 v relid:26 schemaname:19 relname:19 heap_blks_read:20 heap_blks_hit:20 idx_blks_read:20 idx_blks_hit:20 toast_blks_read:20 toast_blks_hit:20 tidx_blks_read:20 tidx_blks_hit:20
pg_catalog.pg_statistic 2619 r starelid:26! staattnum:21! stainherit:16! stanullfrac:700! stawidth:23! stadistinct:700! stakind1:21! stakind2:21! stakind3:21! stakind4:21! stakind5:21! staop1:26! staop2:26! staop3:26! staop4:26! staop5:26! stacoll1:26! stacoll2:26! stacoll3:26! stacoll4:26! stacoll5:26! stanumbers1:1021 stanumbers2:1021 stanumbers3:1021 stanumbers4:1021 stanumbers5:1021 stavalues1:2277 stavalues2:2277 stavalues3:2277 stavalues4:2277 stavalues5:2277
pg_catalog.pg_statistic_ext 3381 r oid:26! stxrelid:26! stxname:19! stxnamespace:26! stxowner:26! stxstattarget:23! stxkeys:22! stxkind:1002! stxexprs:194
pg_catalog.pg_statistic_ext_data 3429 r stxoid:26! stxdinherit:16! stxdndistinct:3361 stxddependencies:3402 stxdmcv:5017 stxdexpr:10028
pg_catalog.pg_stats 12053 v schemaname:19 tablename:19 attname:19 inherited:16 null_frac:700 avg_width:23 n_distinct:700 most_common_vals:2277 most_common_freqs:1021 histogram_bounds:2277 correlation:700 most_common_elems:2277 most_common_elem_freqs:1021 elem_count_histogram:1021
pg_catalog.pg_stats_ext 12058 v schemaname:19 tablename:19 statistics_schemaname:19 statistics_name:19 statistics_owner:19 attnames:1003 exprs:1009 kinds:1002 inherited:16 n_distinct:3361 dependencies:3402 most_common_vals:1009 most_common_val_nulls:1000 most_common_freqs:1022 most_common_base_freqs:1022
pg_catalog.pg_stats_ext_exprs 12063 v schemaname:19 tablename:19 statistics_schemaname:19 statistics_name:19 statistics_owner:19 expr:25 inherited:16 null_frac:700 avg_width:23 n_distinct:700 most_common_vals:2277 most_common_freqs:1021 histogram_bounds:2277 correlation:700 most_common_elems:2277 most_common_elem_freqs:1021 elem_count_histogram:1021
pg_catalog.pg_subscription 6100 r oid:26! subdbid:26! subskiplsn:3220! subname:19! subowner:26! subenabled:16! subbinary:16! substream:16! subtwophasestate:18! subdisableonerr:16! subconninfo:25! subslotname:19 subsynccommit:25! subpublications:1009!
pg_catalog.pg_subscription_rel 6102 r srsubid:26! srrelid:26! srsubstate:18! srsublsn:3220
pg_catalog.pg_tables 12033 v schemaname:19 tablename:19 tableowner:19 tablespace:19 hasindexes:16 hasrules:16 hastriggers:16 rowsecurity:16
pg_catalog.pg_tablespace 1213 r oid:26! spcname:19! spcowner:26! spcacl:1034 spcoptions:1009
pg_catalog.pg_timezone_abbrevs 12122 v abbrev:25 utc_offset:1186 is_dst:16
pg_catalog.pg_timezone_names 12126 v name:25 abbrev:25 utc_offset:1186 is_dst:16
pg_catalog.pg_transform 3576 r oid:26! trftype:26! trflang:26! trffromsql:24! trftosql:24!
pg_catalog.pg_trigger 2620 r oid:26! tgrelid:26! tgparentid:26! tgname:19! tgfoid:26! tgtype:21! tgenabled:18! tgisinternal:16! tgconstrrelid:26! tgconstrindid:26! tgconstraint:26! tgdeferrable:16! tginitdeferred:16! tgnargs:21! tgattr:22! tgargs:17! tgqual:194 tgoldtable:19 tgnewtable:19
pg_catalog.pg_ts_config 3602 r oid:26! cfgname:19! cfgnamespace:26! cfgowner:26! cfgparser:26!
pg_catalog.pg_ts_config_map 3603 r mapcfg:26! maptokentype:23! mapseqno:23! mapdict:26!
pg_catalog.pg_ts_dict 3600 r oid:26! dictname:19! dictnamespace:26! dictowner:26! dicttemplate:26! dictinitoption:25
pg_catalog.pg_ts_parser 3601 r oid:26! prsname:19! prsnamespace:26! prsstart:24! prstoken:24! prsend:24! prsheadline:24! prslextype:24!
pg_catalog.pg_ts_template 3764 r oid:26! tmplname:19! tmplnamespace:26! tmplinit:24! tmpllexize:24!
pg_catalog.pg_type 1247 r oid:26! typname:19! typnamespace:26! typowner:26! typlen:21! typbyval:16! typtype:18! typcategory:18! typispreferred:16! typisdefined:16! typdelim:18! typrelid:26! typsubscript:24! typelem:26! typarray:26! typinput:24! typoutput:24! typreceive:24! typsend:24! typmodin:24! typmodout:24! typanalyze:24! typalign:18! typstorage:18! typnotnull:16! typbasetype:26! typtypmod:23! typndims:23! typcollation:26! typdefaultbin:194 typdefault:25 typacl:1034
pg_catalog.pg_user 12014 v usename:19 usesysid:26 usecreatedb:16 usesuper:16 userepl:16 usebypassrls:16 passwd:25 valuntil:1184 useconfig:1009
pg_catalog.pg_user_mapping 1418 r oid:26! umuser:26! umserver:26! umoptions:1009
pg_catalog.pg_user_mappings 12327 v umid:26 srvid:26 srvname:19 umuser:26 usename:19 umoptions:1009
pg_catalog.pg_views 12028 v schemaname:19 viewname:19 viewowner:19 definition:25
information_schema._pg_foreign_data_wrappers 13507 v oid:26 fdwowner:26 fdwoptions:1009 foreign_data_wrapper_catalog:19 foreign_data_wrapper_name:19 authorization_identifier:19 foreign_data_wrapper_language:1043
information_schema._pg_foreign_servers 13519 v oid:26 srvoptions:1009 foreign_server_catalog:19 foreign_server_name:19 foreign_data_wrapper_catalog:19 foreign_data_wrapper_name:19 foreign_server_type:1043 foreign_server_version:1043 authorization_identifier:19
information_schema._pg_foreign_table_columns 13498 v nspname:19 relname:19 attname:19 attfdwoptions:1009
information_schema._pg_foreign_tables 13532 v foreign_table_catalog:19 foreign_table_schema:19 foreign_table_name:19 ftoptions:1009 foreign_server_catalog:19 foreign_server_name:19 authorization_identifier:19
information_schema._pg_user_mappings 13545 v oid:26 umoptions:1009 umuser:26 authorization_identifier:19 foreign_server_catalog:19 foreign_server_name:19 srvowner:19
information_schema.administrable_role_authorizations 13241 v grantee:19 role_name:19 is_grantable:1043:7
information_schema.applicable_roles 13236 v grantee:19 role_name:19 is_grantable:1043:7
information_schema.attributes 13245 v udt_catalog:19 udt_schema:19 udt_name:19 attribute_name:19 ordinal_position:23 attribute_default:1043 is_nullable:1043:7 data_type:1043 character_maximum_length:23 character_octet_length:23 character_set_catalog:19 character_set_schema:19 character_set_name:19 collation_catalog:19 collation_schema:19 collation_name:19 numeric_precision:23 numeric_precision_radix:23 numeric_scale:23 datetime_precision:23 interval_type:1043 interval_precision:23 attribute_udt_catalog:19 attribute_udt_schema:19 attribute_udt_name:19 scope_catalog:19 scope_schema:19 scope_name:19 maximum_cardinality:23 dtd_identifier:19 is_derived_reference_attribute:1043:7
information_schema.character_sets 13250 v character_set_catalog:19 character_set_schema:19 character_set_name:19 character_repertoire:19 form_of_use:19 default_collate_catalog:19 default_collate_schema:19 default_collate_name:19
information_schema.check_constraint_routine_usage 13255 v constraint_catalog:19 constraint_schema:19 constraint_name:19 specific_catalog:19 specific_schema:19 specific_name:19
information_schema.check_constraints 13260 v constraint_catalog:19 constraint_schema:19 constraint_name:19 check_clause:1043
information_schema.collation_character_set_applicability 13270 v collation_catalog:19 collation_schema:19 collation_name:19 character_set_catalog:19 character_set_schema:19 character_set_name:19
information_schema.collations 13265 v collation_catalog:19 collation_schema:19 collation_name:19 pad_attribute:1043
information_schema.column_column_usage 13275 v table_catalog:19 table_schema:19 table_name:19 column_name:19 dependent_column:19
information_schema.column_domain_usage 13280 v domain_catalog:19 domain_schema:19 domain_name:19 table_catalog:19 table_schema:19 table_name:19 column_name:19
information_schema.column_options 13503 v table_catalog:19 table_schema:19 table_name:19 column_name:19 option_name:19 option_value:1043
information_schema.column_privileges 13285 v grantor:19 grantee:19 table_catalog:19 table_schema:19 table_name:19 column_name:19 privilege_type:1043 is_grantable:1043:7
information_schema.column_udt_usage 13290 v udt_catalog:19 udt_schema:19 udt_name:19 table_catalog:19 table_schema:19 table_name:19 column_name:19
information_schema.columns 13295 v table_catalog:19 table_schema:19 table_name:19 column_name:19 ordinal_position:23 column_default:1043 is_nullable:1043:7 data_type:1043 character_maximum_length:23 character_octet_length:23 numeric_precision:23 numeric_precision_radix:23 numeric_scale:23 datetime_precision:23 interval_type:1043 interval_precision:23 character_set_catalog:19 character_set_schema:19 character_set_name:19 collation_catalog:19 collation_schema:19 collation_name:19 domain_catalog:19 domain_schema:19 domain_name:19 udt_catalog:19 udt_schema:19 udt_name:19 scope_catalog:19 scope_schema:19 scope_name:19 maximum_cardinality:23 dtd_identifier:19 is_self_referencing:1043:7 is_identity:1043:7 identity_generation:1043 identity_start:1043 identity_increment:1043 identity_maximum:1043 identity_minimum:1043 identity_cycle:1043:7 is_generated:1043 generation_expression:1043 is_updatable:1043:7
information_schema.constraint_column_usage 13300 v table_catalog:19 table_schema:19 table_name:19 column_name:19 constraint_catalog:19 constraint_schema:19 constraint_name:19
information_schema.constraint_table_usage 13305 v table_catalog:19 table_schema:19 table_name:19 constraint_catalog:19 constraint_schema:19 constraint_name:19
information_schema.data_type_privileges 13488 v object_catalog:19 object_schema:19 object_name:19 object_type:1043 dtd_identifier:19
information_schema.domain_constraints 13310 v constraint_catalog:19 constraint_schema:19 constraint_name:19 domain_catalog:19 domain_schema:19 domain_name:19 is_deferrable:1043:7 initially_deferred:1043:7
information_schema.domain_udt_usage 13315 v udt_catalog:19 udt_schema:19 udt_name:19 domain_catalog:19 domain_schema:19 domain_name:19
information_schema.domains 13320 v domain_catalog:19 domain_schema:19 domain_name:19 data_type:1043 character_maximum_length:23 character_octet_length:23 character_set_catalog:19 character_set_schema:19 character_set_name:19 collation_catalog:19 collation_schema:19 collation_name:19 numeric_precision:23 numeric_precision_radix:23 numeric_scale:23 datetime_precision:23 interval_type:1043 interval_precision:23 domain_default:1043 udt_catalog:19 udt_schema:19 udt_name:19 scope_catalog:19 scope_schema:19 scope_name:19 maximum_cardinality:23 dtd_identifier:19
information_schema.element_types 13493 v object_catalog:19 object_schema:19 object_name:19 object_type:1043 collection_type_identifier:19 data_type:1043 character_maximum_length:23 character_octet_length:23 character_set_catalog:19 character_set_schema:19 character_set_name:19 collation_catalog:19 collation_schema:19 collation_name:19 numeric_precision:23 numeric_precision_radix:23 numeric_scale:23 datetime_precision:23 interval_type:1043 interval_precision:23 domain_default:1043 udt_catalog:19 udt_schema:19 udt_name:19 scope_catalog:19 scope_schema:19 scope_name:19 maximum_cardinality:23 dtd_identifier:19
information_schema.enabled_roles 13325 v role_name:19
information_schema.foreign_data_wrapper_options 13511 v foreign_data_wrapper_catalog:19 foreign_data_wrapper_name:19 option_name:19 option_value:1043
information_schema.foreign_data_wrappers 13515 v foreign_data_wrapper_catalog:19 foreign_data_wrapper_name:19 authorization_identifier:19 library_name:1043 foreign_data_wrapper_language:1043
information_schema.foreign_server_options 13524 v foreign_server_catalog:19 foreign_server_name:19 option_name:19 option_value:1043
information_schema.foreign_servers 13528 v foreign_server_catalog:19 foreign_server_name:19 foreign_data_wrapper_catalog:19 foreign_data_wrapper_name:19 foreign_server_type:1043 foreign_server_version:1043 authorization_identifier:19
information_schema.foreign_table_options 13537 v foreign_table_catalog:19 foreign_table_schema:19 foreign_table_name:19 option_name:19 option_value:1043
information_schema.foreign_tables 13541 v foreign_table_catalog:19 foreign_table_schema:19 foreign_table_name:19 foreign_server_catalog:19 foreign_server_name:19
information_schema.information_schema_catalog_name 13227 v catalog_name:19
information_schema.key_column_usage 13329 v constraint_catalog:19 constraint_schema:19 constraint_name:19 table_catalog:19 table_schema:19 table_name:19 column_name:19 ordinal_position:23 position_in_unique_constraint:23
information_schema.parameters 13334 v specific_catalog:19 specific_schema:19 specific_name:19 ordinal_position:23 parameter_mode:1043 is_result:1043:7 as_locator:1043:7 parameter_name:19 data_type:1043 character_maximum_length:23 character_octet_length:23 character_set_catalog:19 character_set_schema:19 character_set_name:19 collation_catalog:19 collation_schema:19 collation_name:19 numeric_precision:23 numeric_precision_radix:23 numeric_scale:23 datetime_precision:23 interval_type:1043 interval_precision:23 udt_catalog:19 udt_schema:19 udt_name:19 scope_catalog:19 scope_schema:19 scope_name:19 maximum_cardinality:23 dtd_identifier:19 parameter_default:1043
information_schema.referential_constraints 13339 v constraint_catalog:19 constraint_schema:19 constraint_name:19 unique_constraint_catalog:19 unique_constraint_schema:19 unique_constraint_name:19 match_option:1043 update_rule:1043 delete_rule:1043
information_schema.role_column_grants 13344 v grantor:19 grantee:19 table_catalog:19 table_schema:19 table_name:19 column_name:19 privilege_type:1043 is_grantable:1043:7
information_schema.role_routine_grants 13358 v grantor:19 grantee:19 specific_catalog:19 specific_schema:19 specific_name:19 routine_catalog:19 routine_schema:19 routine_name:19 privilege_type:1043 is_grantable:1043:7
information_schema.role_table_grants 13421 v grantor:19 grantee:19 table_catalog:19 table_schema:19 table_name:19 privilege_type:1043 is_grantable:1043:7 with_hierarchy:1043:7
information_schema.role_udt_grants 13450 v grantor:19 grantee:19 udt_catalog:19 udt_schema:19 udt_name:19 privilege_type:1043 is_grantable:1043:7
information_schema.role_usage_grants 13459 v grantor:19 grantee:19 object_catalog:19 object_schema:19 object_name:19 object_type:1043 privilege_type:1043 is_grantable:1043:7
information_schema.routine_column_usage 13348 v specific_catalog:19 specific_schema:19 specific_name:19 routine_catalog:19 routine_schema:19 routine_name:19 table_catalog:19 table_schema:19 table_name:19 column_name:19
information_schema.routine_privileges 13353 v grantor:19 grantee:19 specific_catalog:19 specific_schema:19 specific_name:19 routine_catalog:19 routine_schema:19 routine_name:19 privilege_type:1043 is_grantable:1043:7
information_schema.routine_routine_usage 13362 v specific_catalog:19 specific_schema:19 specific_name:19 routine_catalog:19 routine_schema:19 routine_name:19
information_schema.routine_sequence_usage 13367 v specific_catalog:19 specific_schema:19 specific_name:19 routine_catalog:19 routine_schema:19 routine_name:19 sequence_catalog:19 sequence_schema:19 sequence_name:19
information_schema.routine_table_usage 13372 v specific_catalog:19 specific_schema:19 specific_name:19 routine_catalog:19 routine_schema:19 routine_name:19 table_catalog:19 table_schema:19 table_name:19
information_schema.routines 13377 v specific_catalog:19 specific_schema:19 specific_name:19 routine_catalog:19 routine_schema:19 routine_name:19 routine_type:1043 module_catalog:19 module_schema:19 module_name:19 udt_catalog:19 udt_schema:19 udt_name:19 data_type:1043 character_maximum_length:23 character_octet_length:23 character_set_catalog:19 character_set_schema:19 character_set_name:19 collation_catalog:19 collation_schema:19 collation_name:19 numeric_precision:23 numeric_precision_radix:23 numeric_scale:23 datetime_precision:23 interval_type:1043 interval_precision:23 type_udt_catalog:19 type_udt_schema:19 type_udt_name:19 scope_catalog:19 scope_schema:19 scope_name:19 maximum_cardinality:23 dtd_identifier:19 routine_body:1043 routine_definition:1043 external_name:1043 external_language:1043 parameter_style:1043 is_deterministic:1043:7 sql_data_access:1043 is_null_call:1043:7 sql_path:1043 schema_level_routine:1043:7 max_dynamic_result_sets:23 is_user_defined_cast:1043:7 is_implicitly_invocable:1043:7 security_type:1043 to_sql_specific_catalog:19 to_sql_specific_schema:19 to_sql_specific_name:19 as_locator:1043:7 created:1184:2 last_altered:1184:2 new_savepoint_level:1043:7 is_udt_dependent:1043:7 result_cast_from_data_type:1043 result_cast_as_locator:1043:7 result_cast_char_max_length:23 result_cast_char_octet_length:23 result_cast_char_set_catalog:19 result_cast_char_set_schema:19 result_cast_char_set_name:19 result_cast_collation_catalog:19 result_cast_collation_schema:19 result_cast_collation_name:19 result_cast_numeric_precision:23 result_cast_numeric_precision_radix:23 result_cast_numeric_scale:23 result_cast_datetime_precision:23 result_cast_interval_type:1043 result_cast_interval_precision:23 result_cast_type_udt_catalog:19 result_cast_type_udt_schema:19 result_cast_type_udt_name:19 result_cast_scope_catalog:19 result_cast_scope_schema:19 result_cast_scope_name:19 result_cast_maximum_cardinality:23 result_cast_dtd_identifier:19
information_schema.schemata 13382 v catalog_name:19 schema_name:19 schema_owner:19 default_character_set_catalog:19 default_character_set_schema:19 default_character_set_name:19 sql_path:1043
information_schema.sequences 13386 v sequence_catalog:19 sequence_schema:19 sequence_name:19 data_type:1043 numeric_precision:23 numeric_precision_radix:23 numeric_scale:23 start_value:1043 minimum_value:1043 maximum_value:1043 increment:1043 cycle_option:1043:7
information_schema.sql_features 13391 r feature_id:1043 feature_name:1043 sub_feature_id:1043 sub_feature_name:1043 is_supported:1043:7 is_verified_by:1043 comments:1043
information_schema.sql_implementation_info 13396 r implementation_info_id:1043 implementation_info_name:1043 integer_value:23 character_value:1043 comments:1043
information_schema.sql_parts 13401 r feature_id:1043 feature_name:1043 is_supported:1043:7 is_verified_by:1043 comments:1043
information_schema.sql_sizing 13406 r sizing_id:23 sizing_name:1043 supported_value:23 comments:1043
information_schema.table_constraints 13411 v constraint_catalog:19 constraint_schema:19 constraint_name:19 table_catalog:19 table_schema:19 table_name:19 constraint_type:1043 is_deferrable:1043:7 initially_deferred:1043:7 enforced:1043:7 nulls_distinct:1043:7
information_schema.table_privileges 13416 v grantor:19 grantee:19 table_catalog:19 table_schema:19 table_name:19 privilege_type:1043 is_grantable:1043:7 with_hierarchy:1043:7
information_schema.tables 13425 v table_catalog:19 table_schema:19 table_name:19 table_type:1043 self_referencing_column_name:19 reference_generation:1043 user_defined_type_catalog:19 user_defined_type_schema:19 user_defined_type_name:19 is_insertable_into:1043:7 is_typed:1043:7 commit_action:1043
information_schema.transforms 13430 v udt_catalog:19 udt_schema:19 udt_name:19 specific_catalog:19 specific_schema:19 specific_name:19 group_name:19 transform_type:1043
information_schema.triggered_update_columns 13435 v trigger_catalog:19 trigger_schema:19 trigger_name:19 event_object_catalog:19 event_object_schema:19 event_object_table:19 event_object_column:19
information_schema.triggers 13440 v trigger_catalog:19 trigger_schema:19 trigger_name:19 event_manipulation:1043 event_object_catalog:19 event_object_schema:19 event_object_table:19 action_order:23 action_condition:1043 action_statement:1043 action_orientation:1043 action_timing:1043 action_reference_old_table:19 action_reference_new_table:19 action_reference_old_row:19 action_reference_new_row:19 created:1184:2
information_schema.udt_privileges 13445 v grantor:19 grantee:19 udt_catalog:19 udt_schema:19 udt_name:19 privilege_type:1043 is_grantable:1043:7
information_schema.usage_privileges 13454 v grantor:19 grantee:19 object_catalog:19 object_schema:19 object_name:19 object_type:1043 privilege_type:1043 is_grantable:1043:7
information_schema.user_defined_types 13463 v user_defined_type_catalog:19 user_defined_type_schema:19 user_defined_type_name:19 user_defined_type_category:1043 is_instantiable:1043:7 is_final:1043:7 ordering_form:1043 ordering_category:1043 ordering_routine_catalog:19 ordering_routine_schema:19 ordering_routine_name:19 reference_type:1043 data_type:1043 character_maximum_length:23 character_octet_length:23 character_set_catalog:19 character_set_schema:19 character_set_name:19 collation_catalog:19 collation_schema:19 collation_name:19 numeric_precision:23 numeric_precision_radix:23 numeric_scale:23 datetime_precision:23 interval_type:1043 interval_precision:23 source_dtd_identifier:19 ref_dtd_identifier:19
information_schema.user_mapping_options 13550 v authorization_identifier:19 foreign_server_catalog:19 foreign_server_name:19 option_name:19 option_value:1043
information_schema.user_mappings 13555 v authorization_identifier:19 foreign_server_catalog:19 foreign_server_name:19
information_schema.view_column_usage 13468 v view_catalog:19 view_schema:19 view_name:19 table_catalog:19 table_schema:19 table_name:19 column_name:19
information_schema.view_routine_usage 13473 v table_catalog:19 table_schema:19 table_name:19 specific_catalog:19 specific_schema:19 specific_name:19
information_schema.view_table_usage 13478 v view_catalog:19 view_schema:19 view_name:19 table_catalog:19 table_schema:19 table_name:19
information_schema.views 13483 v table_catalog:19 table_schema:19 table_name:19 view_definition:1043 check_option:1043 is_updatable:1043:7 is_insertable_into:1043:7 is_trigger_updatable:1043:7 is_trigger_deletable:1043:7 is_trigger_insertable_into:1043:7`

/** The columns of the lines below. */
export const TYPE_COLUMNS =
  'oid typname typlen typbyval typtype typcategory typispreferred typdelim typelem typarray typinput typoutput typreceive typsend typmodin typmodout typanalyze typsubscript typalign typstorage typcollation'

export const TYPE_LINES = `
16 bool 1 t b B t , 0 1000 1242 1243 2436 2437 0 0 0 0 c p 0
17 bytea -1 f b U f , 0 1001 1244 31 2412 2413 0 0 0 0 i x 0
18 char 1 t b Z f , 0 1002 1245 33 2434 2435 0 0 0 0 c p 0
19 name 64 f b S f , 18 1003 34 35 2422 2423 0 0 0 6180 c p 950
20 int8 8 t b N f , 0 1016 460 461 2408 2409 0 0 0 0 d p 0
21 int2 2 t b N f , 0 1005 38 39 2404 2405 0 0 0 0 s p 0
22 int2vector -1 f b A f , 21 1006 40 41 2410 2411 0 0 0 6179 i p 0
23 int4 4 t b N f , 0 1007 42 43 2406 2407 0 0 0 0 i p 0
24 regproc 4 t b N f , 0 1008 44 45 2444 2445 0 0 0 0 i p 0
25 text -1 f b S t , 0 1009 46 47 2414 2415 0 0 0 0 i x 100
26 oid 4 t b N t , 0 1028 1798 1799 2418 2419 0 0 0 0 i p 0
27 tid 6 f b U f , 0 1010 48 49 2438 2439 0 0 0 0 s p 0
28 xid 4 t b U f , 0 1011 50 51 2440 2441 0 0 0 0 i p 0
29 cid 4 t b U f , 0 1012 52 53 2442 2443 0 0 0 0 i p 0
30 oidvector -1 f b A f , 26 1013 54 55 2420 2421 0 0 0 6179 i p 0
32 pg_ddl_command 8 t p P f , 0 0 86 87 88 90 0 0 0 0 d p 0
114 json -1 f b U f , 0 199 321 322 323 324 0 0 0 0 i x 0
142 xml -1 f b U f , 0 143 2893 2894 2898 2899 0 0 0 0 i x 0
143 _xml -1 f b A f , 142 0 750 751 2400 2401 0 0 3816 6179 i x 0
194 pg_node_tree -1 f b Z f , 0 0 195 196 197 198 0 0 0 0 i x 100
199 _json -1 f b A f , 114 0 750 751 2400 2401 0 0 3816 6179 i x 0
269 table_am_handler 4 t p P f , 0 0 267 268 0 0 0 0 0 0 i p 0
271 _xid8 -1 f b A f , 5069 0 750 751 2400 2401 0 0 3816 6179 d x 0
325 index_am_handler 4 t p P f , 0 0 326 327 0 0 0 0 0 0 i p 0
600 point 16 f b G f , 701 1017 117 118 2428 2429 0 0 0 6180 d p 0
601 lseg 32 f b G f , 600 1018 119 120 2480 2481 0 0 0 6180 d p 0
602 path -1 f b G f , 0 1019 121 122 2482 2483 0 0 0 0 d x 0
603 box 32 f b G f ; 600 1020 123 124 2484 2485 0 0 0 6180 d p 0
604 polygon -1 f b G f , 0 1027 347 348 2486 2487 0 0 0 0 d x 0
628 line 24 f b G f , 701 629 1490 1491 2488 2489 0 0 0 6180 d p 0
629 _line -1 f b A f , 628 0 750 751 2400 2401 0 0 3816 6179 d x 0
650 cidr -1 f b I f , 0 651 1267 1427 2498 2499 0 0 0 0 i m 0
651 _cidr -1 f b A f , 650 0 750 751 2400 2401 0 0 3816 6179 i x 0
700 float4 4 t b N f , 0 1021 200 201 2424 2425 0 0 0 0 i p 0
701 float8 8 t b N t , 0 1022 214 215 2426 2427 0 0 0 0 d p 0
705 unknown -2 f p X f , 0 0 109 110 2416 2417 0 0 0 0 c p 0
718 circle 24 f b G f , 0 719 1450 1451 2490 2491 0 0 0 0 d p 0
719 _circle -1 f b A f , 718 0 750 751 2400 2401 0 0 3816 6179 d x 0
774 macaddr8 8 f b U f , 0 775 4110 4111 3446 3447 0 0 0 0 i p 0
775 _macaddr8 -1 f b A f , 774 0 750 751 2400 2401 0 0 3816 6179 i x 0
790 money 8 t b N f , 0 791 886 887 2492 2493 0 0 0 0 d p 0
791 _money -1 f b A f , 790 0 750 751 2400 2401 0 0 3816 6179 d x 0
829 macaddr 6 f b U f , 0 1040 436 437 2494 2495 0 0 0 0 i p 0
869 inet -1 f b I t , 0 1041 910 911 2496 2497 0 0 0 0 i m 0
1000 _bool -1 f b A f , 16 0 750 751 2400 2401 0 0 3816 6179 i x 0
1001 _bytea -1 f b A f , 17 0 750 751 2400 2401 0 0 3816 6179 i x 0
1002 _char -1 f b A f , 18 0 750 751 2400 2401 0 0 3816 6179 i x 0
1003 _name -1 f b A f , 19 0 750 751 2400 2401 0 0 3816 6179 i x 950
1005 _int2 -1 f b A f , 21 0 750 751 2400 2401 0 0 3816 6179 i x 0
1006 _int2vector -1 f b A f , 22 0 750 751 2400 2401 0 0 3816 6179 i x 0
1007 _int4 -1 f b A f , 23 0 750 751 2400 2401 0 0 3816 6179 i x 0
1008 _regproc -1 f b A f , 24 0 750 751 2400 2401 0 0 3816 6179 i x 0
1009 _text -1 f b A f , 25 0 750 751 2400 2401 0 0 3816 6179 i x 100
1010 _tid -1 f b A f , 27 0 750 751 2400 2401 0 0 3816 6179 i x 0
1011 _xid -1 f b A f , 28 0 750 751 2400 2401 0 0 3816 6179 i x 0
1012 _cid -1 f b A f , 29 0 750 751 2400 2401 0 0 3816 6179 i x 0
1013 _oidvector -1 f b A f , 30 0 750 751 2400 2401 0 0 3816 6179 i x 0
1014 _bpchar -1 f b A f , 1042 0 750 751 2400 2401 2913 2914 3816 6179 i x 100
1015 _varchar -1 f b A f , 1043 0 750 751 2400 2401 2915 2916 3816 6179 i x 100
1016 _int8 -1 f b A f , 20 0 750 751 2400 2401 0 0 3816 6179 d x 0
1017 _point -1 f b A f , 600 0 750 751 2400 2401 0 0 3816 6179 d x 0
1018 _lseg -1 f b A f , 601 0 750 751 2400 2401 0 0 3816 6179 d x 0
1019 _path -1 f b A f , 602 0 750 751 2400 2401 0 0 3816 6179 d x 0
1020 _box -1 f b A f ; 603 0 750 751 2400 2401 0 0 3816 6179 d x 0
1021 _float4 -1 f b A f , 700 0 750 751 2400 2401 0 0 3816 6179 i x 0
1022 _float8 -1 f b A f , 701 0 750 751 2400 2401 0 0 3816 6179 d x 0
1027 _polygon -1 f b A f , 604 0 750 751 2400 2401 0 0 3816 6179 d x 0
1028 _oid -1 f b A f , 26 0 750 751 2400 2401 0 0 3816 6179 i x 0
1033 aclitem 12 f b U f , 0 1034 1031 1032 0 0 0 0 0 0 i p 0
1034 _aclitem -1 f b A f , 1033 0 750 751 2400 2401 0 0 3816 6179 i x 0
1040 _macaddr -1 f b A f , 829 0 750 751 2400 2401 0 0 3816 6179 i x 0
1041 _inet -1 f b A f , 869 0 750 751 2400 2401 0 0 3816 6179 i x 0
1042 bpchar -1 f b S f , 0 1014 1044 1045 2430 2431 2913 2914 0 0 i x 100
1043 varchar -1 f b S f , 0 1015 1046 1047 2432 2433 2915 2916 0 0 i x 100
1082 date 4 t b D f , 0 1182 1084 1085 2468 2469 0 0 0 0 i p 0
1083 time 8 t b D f , 0 1183 1143 1144 2470 2471 2909 2910 0 0 d p 0
1114 timestamp 8 t b D f , 0 1115 1312 1313 2474 2475 2905 2906 0 0 d p 0
1115 _timestamp -1 f b A f , 1114 0 750 751 2400 2401 2905 2906 3816 6179 d x 0
1182 _date -1 f b A f , 1082 0 750 751 2400 2401 0 0 3816 6179 i x 0
1183 _time -1 f b A f , 1083 0 750 751 2400 2401 2909 2910 3816 6179 d x 0
1184 timestamptz 8 t b D t , 0 1185 1150 1151 2476 2477 2907 2908 0 0 d p 0
1185 _timestamptz -1 f b A f , 1184 0 750 751 2400 2401 2907 2908 3816 6179 d x 0
1186 interval 16 f b T t , 0 1187 1160 1161 2478 2479 2903 2904 0 0 d p 0
1187 _interval -1 f b A f , 1186 0 750 751 2400 2401 2903 2904 3816 6179 d x 0
1231 _numeric -1 f b A f , 1700 0 750 751 2400 2401 2917 2918 3816 6179 i x 0
1263 _cstring -1 f b A f , 2275 0 750 751 2400 2401 0 0 3816 6179 i x 0
1266 timetz 12 f b D f , 0 1270 1350 1351 2472 2473 2911 2912 0 0 d p 0
1270 _timetz -1 f b A f , 1266 0 750 751 2400 2401 2911 2912 3816 6179 d x 0
1560 bit -1 f b V f , 0 1561 1564 1565 2456 2457 2919 2920 0 0 i x 0
1561 _bit -1 f b A f , 1560 0 750 751 2400 2401 2919 2920 3816 6179 i x 0
1562 varbit -1 f b V t , 0 1563 1579 1580 2458 2459 2902 2921 0 0 i x 0
1563 _varbit -1 f b A f , 1562 0 750 751 2400 2401 2902 2921 3816 6179 i x 0
1700 numeric -1 f b N f , 0 1231 1701 1702 2460 2461 2917 2918 0 0 i m 0
1790 refcursor -1 f b U f , 0 2201 46 47 2414 2415 0 0 0 0 i x 0
2201 _refcursor -1 f b A f , 1790 0 750 751 2400 2401 0 0 3816 6179 i x 0
2202 regprocedure 4 t b N f , 0 2207 2212 2213 2446 2447 0 0 0 0 i p 0
2203 regoper 4 t b N f , 0 2208 2214 2215 2448 2449 0 0 0 0 i p 0
2204 regoperator 4 t b N f , 0 2209 2216 2217 2450 2451 0 0 0 0 i p 0
2205 regclass 4 t b N f , 0 2210 2218 2219 2452 2453 0 0 0 0 i p 0
2206 regtype 4 t b N f , 0 2211 2220 2221 2454 2455 0 0 0 0 i p 0
2207 _regprocedure -1 f b A f , 2202 0 750 751 2400 2401 0 0 3816 6179 i x 0
2208 _regoper -1 f b A f , 2203 0 750 751 2400 2401 0 0 3816 6179 i x 0
2209 _regoperator -1 f b A f , 2204 0 750 751 2400 2401 0 0 3816 6179 i x 0
2210 _regclass -1 f b A f , 2205 0 750 751 2400 2401 0 0 3816 6179 i x 0
2211 _regtype -1 f b A f , 2206 0 750 751 2400 2401 0 0 3816 6179 i x 0
2249 record -1 f p P f , 0 2287 2290 2291 2402 2403 0 0 0 0 d x 0
2275 cstring -2 f p P f , 0 1263 2292 2293 2500 2501 0 0 0 0 c p 0
2276 any 4 t p P f , 0 0 2294 2295 0 0 0 0 0 0 i p 0
2277 anyarray -1 f p P f , 0 0 2296 2297 2502 2503 0 0 0 0 d x 0
2278 void 4 t p P f , 0 0 2298 2299 3120 3121 0 0 0 0 i p 0
2279 trigger 4 t p P f , 0 0 2300 2301 0 0 0 0 0 0 i p 0
2280 language_handler 4 t p P f , 0 0 2302 2303 0 0 0 0 0 0 i p 0
2281 internal 8 t p P f , 0 0 2304 2305 0 0 0 0 0 0 d p 0
2283 anyelement 4 t p P f , 0 0 2312 2313 0 0 0 0 0 0 i p 0
2287 _record -1 f p P f , 2249 0 750 751 2400 2401 0 0 3816 6179 d x 0
2776 anynonarray 4 t p P f , 0 0 2777 2778 0 0 0 0 0 0 i p 0
2949 _txid_snapshot -1 f b A f , 2970 0 750 751 2400 2401 0 0 3816 6179 d x 0
2950 uuid 16 f b U f , 0 2951 2952 2953 2961 2962 0 0 0 0 c p 0
2951 _uuid -1 f b A f , 2950 0 750 751 2400 2401 0 0 3816 6179 i x 0
2970 txid_snapshot -1 f b U f , 0 2949 2939 2940 2941 2942 0 0 0 0 d x 0
3115 fdw_handler 4 t p P f , 0 0 3116 3117 0 0 0 0 0 0 i p 0
3220 pg_lsn 8 t b U f , 0 3221 3229 3230 3238 3239 0 0 0 0 d p 0
3221 _pg_lsn -1 f b A f , 3220 0 750 751 2400 2401 0 0 3816 6179 d x 0
3310 tsm_handler 4 t p P f , 0 0 3311 3312 0 0 0 0 0 0 i p 0
3361 pg_ndistinct -1 f b Z f , 0 0 3355 3356 3357 3358 0 0 0 0 i x 100
3402 pg_dependencies -1 f b Z f , 0 0 3404 3405 3406 3407 0 0 0 0 i x 100
3500 anyenum 4 t p P f , 0 0 3504 3505 0 0 0 0 0 0 i p 0
3614 tsvector -1 f b U f , 0 3643 3610 3611 3639 3638 0 0 3688 0 i x 0
3615 tsquery -1 f b U f , 0 3645 3612 3613 3641 3640 0 0 0 0 i p 0
3642 gtsvector -1 f b U f , 0 3644 3646 3647 0 0 0 0 0 0 i p 0
3643 _tsvector -1 f b A f , 3614 0 750 751 2400 2401 0 0 3816 6179 i x 0
3644 _gtsvector -1 f b A f , 3642 0 750 751 2400 2401 0 0 3816 6179 i x 0
3645 _tsquery -1 f b A f , 3615 0 750 751 2400 2401 0 0 3816 6179 i x 0
3734 regconfig 4 t b N f , 0 3735 3736 3737 3738 3739 0 0 0 0 i p 0
3735 _regconfig -1 f b A f , 3734 0 750 751 2400 2401 0 0 3816 6179 i x 0
3769 regdictionary 4 t b N f , 0 3770 3771 3772 3773 3774 0 0 0 0 i p 0
3770 _regdictionary -1 f b A f , 3769 0 750 751 2400 2401 0 0 3816 6179 i x 0
3802 jsonb -1 f b U f , 0 3807 3806 3804 3805 3803 0 0 0 6098 i x 0
3807 _jsonb -1 f b A f , 3802 0 750 751 2400 2401 0 0 3816 6179 i x 0
3831 anyrange -1 f p P f , 0 0 3832 3833 0 0 0 0 0 0 d x 0
3838 event_trigger 4 t p P f , 0 0 3594 3595 0 0 0 0 0 0 i p 0
4072 jsonpath -1 f b U f , 0 4073 4001 4003 4002 4004 0 0 0 0 i x 0
4073 _jsonpath -1 f b A f , 4072 0 750 751 2400 2401 0 0 3816 6179 i x 0
4089 regnamespace 4 t b N f , 0 4090 4084 4085 4087 4088 0 0 0 0 i p 0
4090 _regnamespace -1 f b A f , 4089 0 750 751 2400 2401 0 0 3816 6179 i x 0
4096 regrole 4 t b N f , 0 4097 4098 4092 4094 4095 0 0 0 0 i p 0
4097 _regrole -1 f b A f , 4096 0 750 751 2400 2401 0 0 3816 6179 i x 0
4191 regcollation 4 t b N f , 0 4192 4193 4194 4196 4197 0 0 0 0 i p 0
4192 _regcollation -1 f b A f , 4191 0 750 751 2400 2401 0 0 3816 6179 i x 0
4537 anymultirange -1 f p P f , 0 0 4229 4230 0 0 0 0 0 0 d x 0
4538 anycompatiblemultirange -1 f p P f , 0 0 4226 4227 0 0 0 0 0 0 d x 0
4600 pg_brin_bloom_summary -1 f b Z f , 0 0 4596 4597 4598 4599 0 0 0 0 i x 100
4601 pg_brin_minmax_multi_summary -1 f b Z f , 0 0 4638 4639 4640 4641 0 0 0 0 i x 100
5017 pg_mcv_list -1 f b Z f , 0 0 5018 5019 5020 5021 0 0 0 0 i x 100
5038 pg_snapshot -1 f b U f , 0 5039 5055 5056 5057 5058 0 0 0 0 d x 0
5039 _pg_snapshot -1 f b A f , 5038 0 750 751 2400 2401 0 0 3816 6179 d x 0
5069 xid8 8 t b U f , 0 271 5070 5081 5082 5083 0 0 0 0 d p 0
5077 anycompatible 4 t p P f , 0 0 5086 5087 0 0 0 0 0 0 i p 0
5078 anycompatiblearray -1 f p P f , 0 0 5088 5089 5090 5091 0 0 0 0 d x 0
5079 anycompatiblenonarray 4 t p P f , 0 0 5092 5093 0 0 0 0 0 0 i p 0
5080 anycompatiblerange -1 f p P f , 0 0 5094 5095 0 0 0 0 0 0 d x 0`

/** A line for each function that a type names: OID, name, type of its result, types of its arguments. */
export const FUNCTION_LINES = `
31 byteaout 2275 17
33 charout 2275 18
34 namein 19 2275
35 nameout 2275 19
38 int2in 21 2275
39 int2out 2275 21
40 int2vectorin 22 2275
41 int2vectorout 2275 22
42 int4in 23 2275
43 int4out 2275 23
44 regprocin 24 2275
45 regprocout 2275 24
46 textin 25 2275
47 textout 2275 25
48 tidin 27 2275
49 tidout 2275 27
50 xidin 28 2275
51 xidout 2275 28
52 cidin 29 2275
53 cidout 2275 29
54 oidvectorin 30 2275
55 oidvectorout 2275 30
86 pg_ddl_command_in 32 2275
87 pg_ddl_command_out 2275 32
88 pg_ddl_command_recv 32 2281
90 pg_ddl_command_send 17 32
109 unknownin 705 2275
110 unknownout 2275 705
117 point_in 600 2275
118 point_out 2275 600
119 lseg_in 601 2275
120 lseg_out 2275 601
121 path_in 602 2275
122 path_out 2275 602
123 box_in 603 2275
124 box_out 2275 603
195 pg_node_tree_in 194 2275
196 pg_node_tree_out 2275 194
197 pg_node_tree_recv 194 2281
198 pg_node_tree_send 17 194
200 float4in 700 2275
201 float4out 2275 700
214 float8in 701 2275
215 float8out 2275 701
267 table_am_handler_in 269 2275
268 table_am_handler_out 2275 269
321 json_in 114 2275
322 json_out 2275 114
323 json_recv 114 2281
324 json_send 17 114
326 index_am_handler_in 325 2275
327 index_am_handler_out 2275 325
347 poly_in 604 2275
348 poly_out 2275 604
436 macaddr_in 829 2275
437 macaddr_out 2275 829
460 int8in 20 2275
461 int8out 2275 20
750 array_in 2277 2275,26,23
751 array_out 2275 2277
886 cash_in 790 2275
887 cash_out 2275 790
910 inet_in 869 2275
911 inet_out 2275 869
1031 aclitemin 1033 2275
1032 aclitemout 2275 1033
1044 bpcharin 1042 2275,26,23
1045 bpcharout 2275 1042
1046 varcharin 1043 2275,26,23
1047 varcharout 2275 1043
1084 date_in 1082 2275
1085 date_out 2275 1082
1143 time_in 1083 2275,26,23
1144 time_out 2275 1083
1150 timestamptz_in 1184 2275,26,23
1151 timestamptz_out 2275 1184
1160 interval_in 1186 2275,26,23
1161 interval_out 2275 1186
1242 boolin 16 2275
1243 boolout 2275 16
1244 byteain 17 2275
1245 charin 18 2275
1267 cidr_in 650 2275
1312 timestamp_in 1114 2275,26,23
1313 timestamp_out 2275 1114
1350 timetz_in 1266 2275,26,23
1351 timetz_out 2275 1266
1427 cidr_out 2275 650
1450 circle_in 718 2275
1451 circle_out 2275 718
1490 line_in 628 2275
1491 line_out 2275 628
1564 bit_in 1560 2275,26,23
1565 bit_out 2275 1560
1579 varbit_in 1562 2275,26,23
1580 varbit_out 2275 1562
1701 numeric_in 1700 2275,26,23
1702 numeric_out 2275 1700
1798 oidin 26 2275
1799 oidout 2275 26
2212 regprocedurein 2202 2275
2213 regprocedureout 2275 2202
2214 regoperin 2203 2275
2215 regoperout 2275 2203
2216 regoperatorin 2204 2275
2217 regoperatorout 2275 2204
2218 regclassin 2205 2275
2219 regclassout 2275 2205
2220 regtypein 2206 2275
2221 regtypeout 2275 2206
2290 record_in 2249 2275,26,23
2291 record_out 2275 2249
2292 cstring_in 2275 2275
2293 cstring_out 2275 2275
2294 any_in 2276 2275
2295 any_out 2275 2276
2296 anyarray_in 2277 2275
2297 anyarray_out 2275 2277
2298 void_in 2278 2275
2299 void_out 2275 2278
2300 trigger_in 2279 2275
2301 trigger_out 2275 2279
2302 language_handler_in 2280 2275
2303 language_handler_out 2275 2280
2304 internal_in 2281 2275
2305 internal_out 2275 2281
2312 anyelement_in 2283 2275
2313 anyelement_out 2275 2283
2400 array_recv 2277 2281,26,23
2401 array_send 17 2277
2402 record_recv 2249 2281,26,23
2403 record_send 17 2249
2404 int2recv 21 2281
2405 int2send 17 21
2406 int4recv 23 2281
2407 int4send 17 23
2408 int8recv 20 2281
2409 int8send 17 20
2410 int2vectorrecv 22 2281
2411 int2vectorsend 17 22
2412 bytearecv 17 2281
2413 byteasend 17 17
2414 textrecv 25 2281
2415 textsend 17 25
2416 unknownrecv 705 2281
2417 unknownsend 17 705
2418 oidrecv 26 2281
2419 oidsend 17 26
2420 oidvectorrecv 30 2281
2421 oidvectorsend 17 30
2422 namerecv 19 2281
2423 namesend 17 19
2424 float4recv 700 2281
2425 float4send 17 700
2426 float8recv 701 2281
2427 float8send 17 701
2428 point_recv 600 2281
2429 point_send 17 600
2430 bpcharrecv 1042 2281,26,23
2431 bpcharsend 17 1042
2432 varcharrecv 1043 2281,26,23
2433 varcharsend 17 1043
2434 charrecv 18 2281
2435 charsend 17 18
2436 boolrecv 16 2281
2437 boolsend 17 16
2438 tidrecv 27 2281
2439 tidsend 17 27
2440 xidrecv 28 2281
2441 xidsend 17 28
2442 cidrecv 29 2281
2443 cidsend 17 29
2444 regprocrecv 24 2281
2445 regprocsend 17 24
2446 regprocedurerecv 2202 2281
2447 regproceduresend 17 2202
2448 regoperrecv 2203 2281
2449 regopersend 17 2203
2450 regoperatorrecv 2204 2281
2451 regoperatorsend 17 2204
2452 regclassrecv 2205 2281
2453 regclasssend 17 2205
2454 regtyperecv 2206 2281
2455 regtypesend 17 2206
2456 bit_recv 1560 2281,26,23
2457 bit_send 17 1560
2458 varbit_recv 1562 2281,26,23
2459 varbit_send 17 1562
2460 numeric_recv 1700 2281,26,23
2461 numeric_send 17 1700
2468 date_recv 1082 2281
2469 date_send 17 1082
2470 time_recv 1083 2281,26,23
2471 time_send 17 1083
2472 timetz_recv 1266 2281,26,23
2473 timetz_send 17 1266
2474 timestamp_recv 1114 2281,26,23
2475 timestamp_send 17 1114
2476 timestamptz_recv 1184 2281,26,23
2477 timestamptz_send 17 1184
2478 interval_recv 1186 2281,26,23
2479 interval_send 17 1186
2480 lseg_recv 601 2281
2481 lseg_send 17 601
2482 path_recv 602 2281
2483 path_send 17 602
2484 box_recv 603 2281
2485 box_send 17 603
2486 poly_recv 604 2281
2487 poly_send 17 604
2488 line_recv 628 2281
2489 line_send 17 628
2490 circle_recv 718 2281
2491 circle_send 17 718
2492 cash_recv 790 2281
2493 cash_send 17 790
2494 macaddr_recv 829 2281
2495 macaddr_send 17 829
2496 inet_recv 869 2281
2497 inet_send 17 869
2498 cidr_recv 650 2281
2499 cidr_send 17 650
2500 cstring_recv 2275 2281
2501 cstring_send 17 2275
2502 anyarray_recv 2277 2281
2503 anyarray_send 17 2277
2777 anynonarray_in 2776 2275
2778 anynonarray_out 2275 2776
2893 xml_in 142 2275
2894 xml_out 2275 142
2898 xml_recv 142 2281
2899 xml_send 17 142
2902 varbittypmodin 23 1263
2903 intervaltypmodin 23 1263
2904 intervaltypmodout 2275 23
2905 timestamptypmodin 23 1263
2906 timestamptypmodout 2275 23
2907 timestamptztypmodin 23 1263
2908 timestamptztypmodout 2275 23
2909 timetypmodin 23 1263
2910 timetypmodout 2275 23
2911 timetztypmodin 23 1263
2912 timetztypmodout 2275 23
2913 bpchartypmodin 23 1263
2914 bpchartypmodout 2275 23
2915 varchartypmodin 23 1263
2916 varchartypmodout 2275 23
2917 numerictypmodin 23 1263
2918 numerictypmodout 2275 23
2919 bittypmodin 23 1263
2920 bittypmodout 2275 23
2921 varbittypmodout 2275 23
2939 txid_snapshot_in 2970 2275
2940 txid_snapshot_out 2275 2970
2941 txid_snapshot_recv 2970 2281
2942 txid_snapshot_send 17 2970
2952 uuid_in 2950 2275
2953 uuid_out 2275 2950
2961 uuid_recv 2950 2281
2962 uuid_send 17 2950
3116 fdw_handler_in 3115 2275
3117 fdw_handler_out 2275 3115
3120 void_recv 2278 2281
3121 void_send 17 2278
3229 pg_lsn_in 3220 2275
3230 pg_lsn_out 2275 3220
3238 pg_lsn_recv 3220 2281
3239 pg_lsn_send 17 3220
3311 tsm_handler_in 3310 2275
3312 tsm_handler_out 2275 3310
3355 pg_ndistinct_in 3361 2275
3356 pg_ndistinct_out 2275 3361
3357 pg_ndistinct_recv 3361 2281
3358 pg_ndistinct_send 17 3361
3404 pg_dependencies_in 3402 2275
3405 pg_dependencies_out 2275 3402
3406 pg_dependencies_recv 3402 2281
3407 pg_dependencies_send 17 3402
3446 macaddr8_recv 774 2281
3447 macaddr8_send 17 774
3504 anyenum_in 3500 2275
3505 anyenum_out 2275 3500
3594 event_trigger_in 3838 2275
3595 event_trigger_out 2275 3838
3610 tsvectorin 3614 2275
3611 tsvectorout 2275 3614
3612 tsqueryin 3615 2275
3613 tsqueryout 2275 3615
3638 tsvectorsend 17 3614
3639 tsvectorrecv 3614 2281
3640 tsquerysend 17 3615
3641 tsqueryrecv 3615 2281
3646 gtsvectorin 3642 2275
3647 gtsvectorout 2275 3642
3688 ts_typanalyze 16 2281
3736 regconfigin 3734 2275
3737 regconfigout 2275 3734
3738 regconfigrecv 3734 2281
3739 regconfigsend 17 3734
3771 regdictionaryin 3769 2275
3772 regdictionaryout 2275 3769
3773 regdictionaryrecv 3769 2281
3774 regdictionarysend 17 3769
3803 jsonb_send 17 3802
3804 jsonb_out 2275 3802
3805 jsonb_recv 3802 2281
3806 jsonb_in 3802 2275
3816 array_typanalyze 16 2281
3832 anyrange_in 3831 2275,26,23
3833 anyrange_out 2275 3831
4001 jsonpath_in 4072 2275
4002 jsonpath_recv 4072 2281
4003 jsonpath_out 2275 4072
4004 jsonpath_send 17 4072
4084 regnamespacein 4089 2275
4085 regnamespaceout 2275 4089
4087 regnamespacerecv 4089 2281
4088 regnamespacesend 17 4089
4092 regroleout 2275 4096
4094 regrolerecv 4096 2281
4095 regrolesend 17 4096
4098 regrolein 4096 2275
4110 macaddr8_in 774 2275
4111 macaddr8_out 2275 774
4193 regcollationin 4191 2275
4194 regcollationout 2275 4191
4196 regcollationrecv 4191 2281
4197 regcollationsend 17 4191
4226 anycompatiblemultirange_in 4538 2275,26,23
4227 anycompatiblemultirange_out 2275 4538
4229 anymultirange_in 4537 2275,26,23
4230 anymultirange_out 2275 4537
4596 brin_bloom_summary_in 4600 2275
4597 brin_bloom_summary_out 2275 4600
4598 brin_bloom_summary_recv 4600 2281
4599 brin_bloom_summary_send 17 4600
4638 brin_minmax_multi_summary_in 4601 2275
4639 brin_minmax_multi_summary_out 2275 4601
4640 brin_minmax_multi_summary_recv 4601 2281
4641 brin_minmax_multi_summary_send 17 4601
5018 pg_mcv_list_in 5017 2275
5019 pg_mcv_list_out 2275 5017
5020 pg_mcv_list_recv 5017 2281
5021 pg_mcv_list_send 17 5017
5055 pg_snapshot_in 5038 2275
5056 pg_snapshot_out 2275 5038
5057 pg_snapshot_recv 5038 2281
5058 pg_snapshot_send 17 5038
5070 xid8in 5069 2275
5081 xid8out 2275 5069
5082 xid8recv 5069 2281
5083 xid8send 17 5069
5086 anycompatible_in 5077 2275
5087 anycompatible_out 2275 5077
5088 anycompatiblearray_in 5078 2275
5089 anycompatiblearray_out 2275 5078
5090 anycompatiblearray_recv 5078 2281
5091 anycompatiblearray_send 17 5078
5092 anycompatiblenonarray_in 5079 2275
5093 anycompatiblenonarray_out 2275 5079
5094 anycompatiblerange_in 5080 2275,26,23
5095 anycompatiblerange_out 2275 5080
6098 jsonb_subscript_handler 2281 2281
6179 array_subscript_handler 2281 2281
6180 raw_array_subscript_handler 2281 2281`

/** A line for each keyword: the word and its category. */
export const KEYWORD_LINES = `
abort U
absolute U
access U
action U
add U
admin U
after U
aggregate U
all R
also U
alter U
always U
analyse R
analyze R
and R
any R
array R
as R
asc R
asensitive U
assertion U
assignment U
asymmetric R
at U
atomic U
attach U
attribute U
authorization T
backward U
before U
begin U
between C
bigint C
binary T
bit C
boolean C
both R
breadth U
by U
cache U
call U
called U
cascade U
cascaded U
case R
cast R
catalog U
chain U
char C
character C
characteristics U
check R
checkpoint U
class U
close U
cluster U
coalesce C
collate R
collation T
column R
columns U
comment U
comments U
commit U
committed U
compression U
concurrently T
configuration U
conflict U
connection U
constraint R
constraints U
content U
continue U
conversion U
copy U
cost U
create R
cross T
csv U
cube U
current U
current_catalog R
current_date R
current_role R
current_schema T
current_time R
current_timestamp R
current_user R
cursor U
cycle U
data U
database U
day U
deallocate U
dec C
decimal C
declare U
default R
defaults U
deferrable R
deferred U
definer U
delete U
delimiter U
delimiters U
depends U
depth U
desc R
detach U
dictionary U
disable U
discard U
distinct R
do R
document U
domain U
double U
drop U
each U
else R
enable U
encoding U
encrypted U
end R
enum U
escape U
event U
except R
exclude U
excluding U
exclusive U
execute U
exists C
explain U
expression U
extension U
external U
extract C
false R
family U
fetch R
filter U
finalize U
first U
float C
following U
for R
force U
foreign R
forward U
freeze T
from R
full T
function U
functions U
generated U
global U
grant R
granted U
greatest C
group R
grouping C
groups U
handler U
having R
header U
hold U
hour U
identity U
if U
ilike T
immediate U
immutable U
implicit U
import U
in R
include U
including U
increment U
index U
indexes U
inherit U
inherits U
initially R
inline U
inner T
inout C
input U
insensitive U
insert U
instead U
int C
integer C
intersect R
interval C
into R
invoker U
is T
isnull T
isolation U
join T
key U
label U
language U
large U
last U
lateral R
leading R
leakproof U
least C
left T
level U
like T
limit R
listen U
load U
local U
localtime R
localtimestamp R
location U
lock U
locked U
logged U
mapping U
match U
matched U
materialized U
maxvalue U
merge U
method U
minute U
minvalue U
mode U
month U
move U
name U
names U
national C
natural T
nchar C
new U
next U
nfc U
nfd U
nfkc U
nfkd U
no U
none C
normalize C
normalized U
not R
nothing U
notify U
notnull T
nowait U
null R
nullif C
nulls U
numeric C
object U
of U
off U
offset R
oids U
old U
on R
only R
operator U
option U
options U
or R
order R
ordinality U
others U
out C
outer T
over U
overlaps T
overlay C
overriding U
owned U
owner U
parallel U
parameter U
parser U
partial U
partition U
passing U
password U
placing R
plans U
policy U
position C
preceding U
precision C
prepare U
prepared U
preserve U
primary R
prior U
privileges U
procedural U
procedure U
procedures U
program U
publication U
quote U
range U
read U
real C
reassign U
recheck U
recursive U
ref U
references R
referencing U
refresh U
reindex U
relative U
release U
rename U
repeatable U
replace U
replica U
reset U
restart U
restrict U
return U
returning R
returns U
revoke U
right T
role U
rollback U
rollup U
routine U
routines U
row C
rows U
rule U
savepoint U
schema U
schemas U
scroll U
search U
second U
security U
select R
sequence U
sequences U
serializable U
server U
session U
session_user R
set U
setof C
sets U
share U
show U
similar T
simple U
skip U
smallint C
snapshot U
some R
sql U
stable U
standalone U
start U
statement U
statistics U
stdin U
stdout U
storage U
stored U
strict U
strip U
subscription U
substring C
support U
symmetric R
sysid U
system U
table R
tables U
tablesample T
tablespace U
temp U
template U
temporary U
text U
then R
ties U
time C
timestamp C
to R
trailing R
transaction U
transform U
treat C
trigger U
trim C
true R
truncate U
trusted U
type U
types U
uescape U
unbounded U
uncommitted U
unencrypted U
union R
unique R
unknown U
unlisten U
unlogged U
until U
update U
user R
using R
vacuum U
valid U
validate U
validator U
value U
values C
varchar C
variadic R
varying U
verbose T
version U
view U
views U
volatile U
when R
where R
whitespace U
window R
with R
within U
without U
work U
wrapper U
write U
xml U
xmlattributes C
xmlconcat C
xmlelement C
xmlexists C
xmlforest C
xmlnamespaces C
xmlparse C
xmlpi C
xmlroot C
xmlserialize C
xmltable C
year U
yes U
zone U`
