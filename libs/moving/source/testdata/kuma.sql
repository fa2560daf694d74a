-- The tables of Uptime Kuma 2, with the columns that a reader could meet.
CREATE TABLE setting (id INTEGER PRIMARY KEY, key VARCHAR(200) NOT NULL UNIQUE, value TEXT, type VARCHAR(20));
CREATE TABLE status_page (id INTEGER PRIMARY KEY, slug VARCHAR(255) NOT NULL UNIQUE, title VARCHAR(255) NOT NULL, description TEXT, icon VARCHAR(255) NOT NULL, theme VARCHAR(30) NOT NULL, published BOOLEAN NOT NULL DEFAULT 1, search_engine_index BOOLEAN NOT NULL DEFAULT 1, show_tags BOOLEAN NOT NULL DEFAULT 0, password VARCHAR, created_date DATETIME, footer_text TEXT, custom_css TEXT);
CREATE TABLE "group" (id INTEGER PRIMARY KEY, name VARCHAR(255) NOT NULL, created_date DATETIME, public BOOLEAN NOT NULL DEFAULT 0, active BOOLEAN NOT NULL DEFAULT 1, weight INTEGER NOT NULL DEFAULT 1000, status_page_id INTEGER);
CREATE TABLE monitor (id INTEGER PRIMARY KEY, name VARCHAR(150), active BOOLEAN NOT NULL DEFAULT 1, url TEXT, type VARCHAR(20), created_date DATETIME, description TEXT, parent INTEGER, basic_auth_pass TEXT, push_token VARCHAR(20));
CREATE TABLE monitor_group (id INTEGER PRIMARY KEY, monitor_id INTEGER NOT NULL, group_id INTEGER NOT NULL, weight INTEGER NOT NULL DEFAULT 1000, send_url BOOLEAN NOT NULL DEFAULT 0);
CREATE TABLE incident (id INTEGER PRIMARY KEY, title VARCHAR(255) NOT NULL, content TEXT NOT NULL, style VARCHAR(30) NOT NULL DEFAULT 'warning', created_date DATETIME NOT NULL, last_updated_date DATETIME, pin BOOLEAN NOT NULL DEFAULT 1, active BOOLEAN NOT NULL DEFAULT 1, status_page_id INTEGER);
CREATE TABLE maintenance (id INTEGER PRIMARY KEY, title VARCHAR(150) NOT NULL, description TEXT NOT NULL, user_id INTEGER, active BOOLEAN NOT NULL DEFAULT 1, strategy VARCHAR(50) NOT NULL DEFAULT 'single', start_date DATETIME, end_date DATETIME, start_time TIME, end_time TIME, weekdays VARCHAR2(250) DEFAULT '[]', days_of_month TEXT DEFAULT '[]', interval_day INTEGER, cron TEXT, timezone VARCHAR(255), duration INTEGER);
CREATE TABLE monitor_maintenance (id INTEGER PRIMARY KEY, monitor_id INTEGER NOT NULL, maintenance_id INTEGER NOT NULL);
CREATE TABLE maintenance_status_page (id INTEGER PRIMARY KEY, status_page_id INTEGER NOT NULL, maintenance_id INTEGER NOT NULL);
CREATE TABLE heartbeat (id INTEGER PRIMARY KEY, important BOOLEAN NOT NULL DEFAULT 0, monitor_id INTEGER NOT NULL, status SMALLINT NOT NULL, msg TEXT, time DATETIME NOT NULL, ping INTEGER, duration INTEGER NOT NULL DEFAULT 0);
INSERT INTO setting VALUES (1, 'serverTimezone', '"Europe/Berlin"', 'general');
INSERT INTO status_page VALUES (1, 'harbour', 'Harbour', 'What the harbour does.', '/icon.svg', 'dark', 1, 1, 0, NULL, '2024-01-01 00:00:00', 'A footer', NULL), (2, 'inside', 'Inside', NULL, '/icon.svg', 'auto', 0, 1, 0, NULL, '2024-01-01 00:00:00', NULL, NULL);
INSERT INTO "group" VALUES (1, 'Web', '2024-01-01 00:00:00', 1, 1, 2, 1), (2, 'Data', '2024-01-01 00:00:00', 1, 1, 1, 1), (3, 'All', '2024-01-01 00:00:00', 1, 1, 1, 2);
INSERT INTO monitor VALUES (1, 'Shop', 1, 'https://shop.harbour.example', 'http', '2024-01-01 00:00:00', 'The shop.', NULL, 'secret', NULL), (2, 'Database', 1, NULL, 'port', '2024-01-01 00:00:00', NULL, 4, NULL, NULL), (3, 'Backup', 1, NULL, 'push', '2024-01-01 00:00:00', NULL, 4, NULL, 'token'), (4, 'Folder', 1, NULL, 'group', '2024-01-01 00:00:00', NULL, 4, NULL, NULL);
INSERT INTO monitor_group VALUES (1, 1, 1, 1, 0), (2, 2, 2, 1, 0), (3, 1, 3, 1, 0);
INSERT INTO incident VALUES (1, 'Shop is slow', 'We *look* at it.', 'danger', '2024-05-01 10:00:00', '2024-05-01 12:30:00.250', 0, 0, 1), (2, 'New prices', 'From June on.', 'info', '2024-05-02 10:00:00', NULL, 0, 1, 1), (3, 'Mail is late', '', 'warning', '2026-11-26 09:00:00', NULL, 1, 1, 1);
INSERT INTO maintenance VALUES
 (1, 'Disks', 'We exchange **disks**.', 1, 1, 'single', '2024-06-01 22:00:00', '2024-06-02 00:00:00', NULL, NULL, '[]', '[]', NULL, NULL, 'SAME_AS_SERVER', NULL),
 (2, 'By hand', 'x', 1, 0, 'manual', NULL, NULL, NULL, NULL, '[]', '[]', NULL, NULL, NULL, NULL),
 (3, 'Each Monday', 'x', 1, 1, 'recurring-weekday', '2024-01-01 00:00:00', NULL, '23:00:00', '01:00:00', '[1]', '[]', NULL, '0 23 * * 1', 'Europe/Berlin', 7200),
 (4, 'End of month', 'x', 1, 1, 'recurring-day-of-month', '2024-01-01 00:00:00', NULL, '02:00:00', '03:00:00', '[]', '["lastDay1"]', NULL, NULL, 'UTC', 3600),
 (5, 'Every tenth day', 'x', 1, 1, 'recurring-interval', '2026-11-20 00:00:00', NULL, '02:00:00', '03:00:00', '[]', '[]', 10, NULL, 'UTC', 3600),
 (6, 'By a pattern', 'x', 1, 1, 'cron', NULL, NULL, NULL, NULL, '[]', '[]', NULL, '30 3 * * *', 'UTC', 3600),
 (7, 'Now', 'x', 1, 1, 'single', '2026-11-26 11:00:00', '2026-11-26 14:00:00', NULL, NULL, '[]', '[]', NULL, NULL, 'UTC', NULL);
INSERT INTO monitor_maintenance VALUES (1, 2, 1), (2, 2, 3);
INSERT INTO maintenance_status_page VALUES (1, 1, 2), (2, 2, 4);
INSERT INTO heartbeat VALUES (1, 1, 1, 1, 'up', '2024-01-01 00:00:00.000', 10, 0), (2, 1, 1, 0, 'connect to 10.0.0.5 refused', '2024-02-01 10:00:00.000', 10, 0), (3, 0, 1, 0, 'x', '2024-02-01 10:03:00.000', 10, 0), (4, 1, 1, 1, 'up', '2024-02-01 10:05:00.000', 10, 0),
 (5, 1, 1, 0, 'x', '2024-02-02 10:00:00.000', 10, 0), (6, 1, 1, 1, 'up', '2024-02-02 10:04:59.000', 10, 0), (7, 1, 2, 0, 'x', '2024-02-03 10:00:00.000', 10, 0);
