-- Nexmark q0-q22 after the public definitions, with the DDL of its tables. ${DIR} is the folder of the files.
--@ddl
CREATE TEMPORARY TABLE person (id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING, `dateTime` TIMESTAMP(3), extra STRING, WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND) WITH ('connector' = 'filesystem', 'path' = '${DIR}/person.csv.gz', 'format' = 'csv');
CREATE TEMPORARY TABLE auction (id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT, `dateTime` TIMESTAMP(3), expires TIMESTAMP(3), seller BIGINT, category BIGINT, extra STRING, WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND) WITH ('connector' = 'filesystem', 'path' = '${DIR}/auction.csv.gz', 'format' = 'csv');
CREATE TEMPORARY TABLE bid (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, `dateTime` TIMESTAMP(3), extra STRING, WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND) WITH ('connector' = 'filesystem', 'path' = '${DIR}/bid.csv.gz', 'format' = 'csv');
CREATE TEMPORARY VIEW bid_proc AS SELECT *, PROCTIME() AS p_time FROM bid;
CREATE TEMPORARY VIEW side AS SELECT id AS k, CONCAT('side-', CAST(id AS STRING)) AS v FROM auction WHERE id < 1500;
--@q0 pass through
SELECT auction, bidder, price, `dateTime`, extra FROM bid;
--@q1 currency
SELECT auction, bidder, CAST(price * 0.908 AS DECIMAL(23, 3)) AS price, `dateTime`, extra FROM bid;
--@q2 selection
SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0;
--@q3 who sells in three states
SELECT p.name, p.city, p.state, a.id FROM auction AS a JOIN person AS p ON p.id = a.seller WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA');
--@q4 average closing price of a category
WITH closing AS (SELECT a.id, a.category, MAX(b.price) AS final FROM auction AS a JOIN bid AS b ON b.auction = a.id AND b.`dateTime` BETWEEN a.`dateTime` AND a.expires GROUP BY a.id, a.category) SELECT category, AVG(final) AS avg_final FROM closing GROUP BY category;
--@q5 hot items: most bids in sliding windows
WITH n AS (SELECT auction, COUNT(*) AS num, window_start AS ws, window_end AS we FROM TABLE(HOP(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '2' SECOND, INTERVAL '10' SECOND)) GROUP BY auction, window_start, window_end), m AS (SELECT MAX(num) AS top, ws, we FROM (SELECT COUNT(*) AS num, window_start AS ws, window_end AS we FROM TABLE(HOP(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '2' SECOND, INTERVAL '10' SECOND)) GROUP BY auction, window_start, window_end) GROUP BY ws, we) SELECT n.auction, n.num FROM n JOIN m ON n.ws = m.ws AND n.we = m.we AND n.num >= m.top;
--@q6 average price of a seller's last ten closings (Flink refuses: OVER on an updating input)
WITH best AS (SELECT * FROM (SELECT a.id, a.seller, b.price, b.`dateTime`, ROW_NUMBER() OVER (PARTITION BY a.id, a.seller ORDER BY b.price DESC) AS rn FROM auction AS a JOIN bid AS b ON a.id = b.auction AND b.`dateTime` BETWEEN a.`dateTime` AND a.expires) WHERE rn <= 1) SELECT seller, AVG(price) OVER (PARTITION BY seller ORDER BY `dateTime` ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) AS avg_price FROM best;
--@q7 highest bid of each window
SELECT b.auction, b.price, b.bidder, b.`dateTime`, b.extra FROM bid AS b JOIN (SELECT MAX(price) AS top, window_end AS we FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND)) GROUP BY window_start, window_end) AS m ON b.price = m.top WHERE b.`dateTime` BETWEEN m.we - INTERVAL '10' SECOND AND m.we;
--@q8 new users who open auctions in the same window
SELECT p.id, p.name, p.ws FROM (SELECT id, name, window_start AS ws, window_end AS we FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND)) GROUP BY id, name, window_start, window_end) AS p JOIN (SELECT seller, window_start AS ws, window_end AS we FROM TABLE(TUMBLE(TABLE auction, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND)) GROUP BY seller, window_start, window_end) AS a ON p.id = a.seller AND p.ws = a.ws AND p.we = a.we;
--@q9 winning bids
SELECT id, itemName, initialBid, reserve, `dateTime`, expires, seller, category, auction, bidder, price, bid_time, bid_extra FROM (SELECT a.*, b.auction, b.bidder, b.price, b.`dateTime` AS bid_time, b.extra AS bid_extra, ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.`dateTime` ASC) AS rn FROM auction AS a JOIN bid AS b ON a.id = b.auction AND b.`dateTime` BETWEEN a.`dateTime` AND a.expires) WHERE rn <= 1;
--@q10 log to partitions
SELECT auction, bidder, price, `dateTime`, extra, DATE_FORMAT(`dateTime`, 'yyyy-MM-dd') AS dt, DATE_FORMAT(`dateTime`, 'HH:mm') AS hm FROM bid;
--@q11 user sessions
SELECT bidder, COUNT(*) AS bid_count, SESSION_START(`dateTime`, INTERVAL '10' SECOND) AS starttime, SESSION_END(`dateTime`, INTERVAL '10' SECOND) AS endtime FROM bid GROUP BY bidder, SESSION(`dateTime`, INTERVAL '10' SECOND);
--@q12 processing-time windows (counts only comparable in total)
SELECT bidder, COUNT(*) AS bid_count, window_start AS starttime, window_end AS endtime FROM TABLE(TUMBLE(TABLE bid_proc, DESCRIPTOR(p_time), INTERVAL '10' SECOND)) GROUP BY bidder, window_start, window_end;
--@q13 bounded side input (as a join; the wheel has no lookup connector)
SELECT b.auction, b.bidder, b.price, b.`dateTime`, s.v FROM bid AS b JOIN side AS s ON MOD(b.auction, 10000) = s.k;
--@q14 calculation, filter, counting characters
SELECT auction, bidder, CAST(0.908 * price AS DECIMAL(23, 3)) AS price, CASE WHEN HOUR(`dateTime`) BETWEEN 8 AND 18 THEN 'dayTime' WHEN HOUR(`dateTime`) <= 6 OR HOUR(`dateTime`) >= 20 THEN 'nightTime' ELSE 'otherTime' END AS bidTimeType, `dateTime`, extra, CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'c', '')) AS c_counts FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000;
--@q15 a day's statistics with distinct and filter
SELECT DATE_FORMAT(`dateTime`, 'yyyy-MM-dd') AS dy, COUNT(*) AS total_bids, COUNT(*) FILTER (WHERE price < 10000) AS rank1_bids, COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids, COUNT(*) FILTER (WHERE price >= 1000000) AS rank3_bids, COUNT(DISTINCT bidder) AS total_bidders, COUNT(DISTINCT bidder) FILTER (WHERE price < 10000) AS rank1_bidders, COUNT(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bidders, COUNT(DISTINCT bidder) FILTER (WHERE price >= 1000000) AS rank3_bidders, COUNT(DISTINCT auction) AS total_auctions, COUNT(DISTINCT auction) FILTER (WHERE price < 10000) AS rank1_auctions, COUNT(DISTINCT auction) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_auctions, COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000) AS rank3_auctions FROM bid GROUP BY DATE_FORMAT(`dateTime`, 'yyyy-MM-dd');
--@q16 a channel's statistics
SELECT channel, DATE_FORMAT(`dateTime`, 'yyyy-MM-dd') AS dy, MAX(DATE_FORMAT(`dateTime`, 'HH:mm')) AS mi, COUNT(*) AS total_bids, COUNT(*) FILTER (WHERE price < 10000) AS rank1_bids, COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids, COUNT(*) FILTER (WHERE price >= 1000000) AS rank3_bids, COUNT(DISTINCT bidder) AS total_bidders, COUNT(DISTINCT bidder) FILTER (WHERE price < 10000) AS rank1_bidders, COUNT(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bidders, COUNT(DISTINCT bidder) FILTER (WHERE price >= 1000000) AS rank3_bidders, COUNT(DISTINCT auction) AS total_auctions, COUNT(DISTINCT auction) FILTER (WHERE price < 10000) AS rank1_auctions, COUNT(DISTINCT auction) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_auctions, COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000) AS rank3_auctions FROM bid GROUP BY channel, DATE_FORMAT(`dateTime`, 'yyyy-MM-dd');
--@q17 an auction's statistics of a day
SELECT auction, DATE_FORMAT(`dateTime`, 'yyyy-MM-dd') AS dy, COUNT(*) AS total_bids, COUNT(*) FILTER (WHERE price < 10000) AS rank1_bids, COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids, COUNT(*) FILTER (WHERE price >= 1000000) AS rank3_bids, MIN(price) AS min_price, MAX(price) AS max_price, AVG(price) AS avg_price, SUM(price) AS sum_price FROM bid GROUP BY auction, DATE_FORMAT(`dateTime`, 'yyyy-MM-dd');
--@q18 last bid of a bidder on an auction
SELECT auction, bidder, price, channel, url, `dateTime`, extra FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY `dateTime` DESC) AS rn FROM bid) WHERE rn <= 1;
--@q19 top ten bids of an auction
SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rn FROM bid) WHERE rn <= 10;
--@q20 bids with their auction
SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.`dateTime` AS bid_time, b.extra AS bid_extra, a.itemName, a.description, a.initialBid, a.reserve, a.`dateTime` AS auction_time, a.expires, a.seller, a.category, a.extra AS auction_extra FROM bid AS b JOIN auction AS a ON b.auction = a.id WHERE a.category = 10;
--@q21 channel id from the url
SELECT auction, bidder, price, channel, CASE LOWER(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3' ELSE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) END AS channel_id FROM bid WHERE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) IS NOT NULL OR LOWER(channel) IN ('apple', 'google', 'facebook', 'baidu');
--@q22 folders of the url
SELECT auction, bidder, price, channel, SPLIT_INDEX(url, '/', 3) AS dir1, SPLIT_INDEX(url, '/', 4) AS dir2, SPLIT_INDEX(url, '/', 5) AS dir3 FROM bid;
