CREATE TABLE settings (id INTEGER PRIMARY KEY, "group" VARCHAR, name VARCHAR, locked BOOLEAN, payload TEXT, value TEXT);
CREATE TABLE component_groups (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL, "order" INTEGER DEFAULT 0, collapsed INTEGER DEFAULT 1, visible INTEGER NOT NULL DEFAULT 1, created_at DATETIME, updated_at DATETIME);
CREATE TABLE components (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL, description TEXT, link TEXT, status INTEGER, "order" INTEGER, component_group_id INTEGER, enabled BOOLEAN DEFAULT 1, meta TEXT, created_at DATETIME, updated_at DATETIME, deleted_at DATETIME);
CREATE TABLE incidents (id INTEGER PRIMARY KEY, guid VARCHAR, component_id INTEGER, name VARCHAR NOT NULL, status INTEGER, visible INTEGER DEFAULT 1, stickied BOOLEAN DEFAULT 0, notifications BOOLEAN DEFAULT 0, message TEXT NOT NULL, occurred_at DATETIME, published_at DATETIME, created_at DATETIME, updated_at DATETIME, deleted_at DATETIME);
CREATE TABLE incident_components (id INTEGER PRIMARY KEY, incident_id INTEGER, component_id INTEGER, component_status INTEGER);
CREATE TABLE updates (id INTEGER PRIMARY KEY, updateable_type VARCHAR, updateable_id INTEGER, status INTEGER, message TEXT, user_id INTEGER, created_at DATETIME, updated_at DATETIME);
CREATE TABLE schedules (id INTEGER PRIMARY KEY, name VARCHAR, message TEXT, scheduled_at DATETIME, completed_at DATETIME, created_at DATETIME, updated_at DATETIME, deleted_at DATETIME);
CREATE TABLE schedule_components (id INTEGER PRIMARY KEY, schedule_id INTEGER, component_id INTEGER, component_status INTEGER);
CREATE TABLE subscribers (id INTEGER PRIMARY KEY, email VARCHAR, email_verified_at DATETIME, global BOOLEAN DEFAULT 1, phone_number VARCHAR, slack_webhook_url VARCHAR, created_at DATETIME, updated_at DATETIME);
CREATE TABLE subscriptions (id INTEGER PRIMARY KEY, subscriber_id INTEGER, component_id INTEGER);
CREATE TABLE metrics (id INTEGER PRIMARY KEY, name VARCHAR);
CREATE TABLE webhook_subscriptions (id INTEGER PRIMARY KEY, url VARCHAR, secret VARCHAR);
INSERT INTO settings VALUES (1, 'app', 'name', 0, '"Harbour"', NULL), (2, 'app', 'timezone', 0, '"Europe/Berlin"', NULL), (3, 'app', 'about', 0, '"What the *harbour* does."', NULL);
INSERT INTO component_groups VALUES (1, 'Web', 0, 1, 1, NULL, NULL), (2, 'Staff', 1, 1, 0, NULL, NULL);
INSERT INTO components VALUES (1, 'Shop', 'The shop.', 'https://shop.harbour.example', 3, 1, 1, 1, NULL, NULL, NULL, NULL), (2, 'Wiki', NULL, NULL, 1, 2, 2, 1, NULL, NULL, NULL, NULL), (3, 'Mail', '', NULL, 5, 3, NULL, 1, NULL, NULL, NULL, NULL), (4, 'Gone', '', NULL, 1, 4, NULL, 1, NULL, NULL, NULL, '2025-01-01 00:00:00'), (5, 'Chat', '', NULL, 2, 5, NULL, 1, NULL, NULL, NULL, NULL);
INSERT INTO incidents VALUES (1, '0a6e7f3c-guid', NULL, 'Shop fails', 1, 1, 0, 0, 'We look at **it**.', '2025-02-01 10:00:00', NULL, '2025-02-01 10:05:00', '2025-02-01 12:00:00', NULL),
 (2, '0b', NULL, 'Wiki is slow', 4, 0, 0, 0, 'Slow.', NULL, NULL, '2025-03-01 10:00:00', '2025-03-01 11:00:00', NULL), (3, '0c', NULL, 'Later', 1, 1, 0, 0, 'Draft.', NULL, '2027-01-01 00:00:00', '2025-04-01 10:00:00', '2025-04-01 11:00:00', NULL),
 (4, '0d', NULL, 'Deleted', 1, 1, 0, 0, 'x', NULL, NULL, '2025-04-01 10:00:00', NULL, '2025-04-02 00:00:00'), (5, '0e', NULL, 'Shop is partly down', 2, 1, 0, 0, 'Now.', NULL, NULL, '2026-11-26 10:00:00', NULL, NULL);
INSERT INTO incident_components VALUES (1, 1, 1, 4), (2, 1, 3, 2), (3, 2, 2, 2), (4, 5, 1, 3), (5, 1, 4, 4);
INSERT INTO updates VALUES (1, 'incident', 1, 3, 'We watch it.', 1, '2025-02-01 11:00:00', NULL), (2, 'incident', 1, 4, 'Fixed.', 1, '2025-02-01 11:30:00', NULL), (3, 'incident', 1, 0, 'A word more.', 1, '2025-02-01 11:40:00', NULL), (4, 'schedule', 1, NULL, 'Half done.', 1, '2025-05-01 22:30:00', NULL);
INSERT INTO schedules VALUES (1, 'Disks', 'We exchange disks.', '2025-05-01 22:00:00', '2025-05-01 23:00:00', '2025-04-20 10:00:00', NULL, NULL), (2, 'Cables', NULL, '2027-05-01 22:00:00', NULL, '2025-04-20 10:00:00', NULL, NULL);
INSERT INTO schedule_components VALUES (1, 1, 1, 6);
INSERT INTO subscribers VALUES (1, 'ada@reader.example', '2025-01-02 10:00:00', 1, NULL, NULL, '2025-01-01 10:00:00', NULL), (2, 'bob@reader.example', '2025-01-01 10:00:00', 0, NULL, NULL, '2025-01-01 10:00:00', NULL), (3, 'eve@reader.example', NULL, 0, NULL, NULL, '2025-01-01 10:00:00', NULL), (4, NULL, NULL, 1, NULL, 'https://hooks.slack.example/x', '2025-01-01 10:00:00', NULL);
INSERT INTO subscriptions VALUES (1, 2, 1);
INSERT INTO metrics VALUES (1, 'Response time');
INSERT INTO webhook_subscriptions VALUES (1, 'https://hooks.reader.example', 'secret');
